#include "facts_function.h"

#include "facts_instruction.h"

#include "llvm/IR/DebugInfo.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace llvm;

namespace leakline {

namespace {

struct Binding {
    int block, index, variable;
    std::optional<int> value;
    int location;
};

// Expressions that compute something name no value of ours; a plain part does.
bool names_value(const DbgVariableRecord& record) {
    const DIExpression* expression = record.getExpression();
    unsigned allowed = expression->isFragment() ? 3 : 0;
    return expression->getNumElements() == allowed &&
           record.getNumVariableLocationOps() == 1;
}

auto records_before(const Instruction& instruction) {
    return filterDbgVars(const_cast<Instruction&>(instruction).getDbgRecordRange());
}

class BodyWriter {
  public:
    BodyWriter(json::OStream& out, UnitContext& unit, BodyNumbers& numbers,
               CallsMade& calls)
        : out_(out), numbers_(numbers), rows_(out, unit, numbers, calls) {
    }

    void write_blocks(const Function& function) {
        note_memory(function);
        out_.array([&] {
            for (const BasicBlock& block : function) {
                out_.array([&] { write_rows(block); });
            }
        });
    }

    void write_bindings() {
        out_.array([&] {
            for (const Binding& binding : bindings_) {
                write_binding(binding);
            }
        });
    }

    int instruction_count() const {
        return instruction_count_;
    }

  private:
    static uint64_t part_key(const DbgVariableRecord& record) {
        auto part = record.getExpression()->getFragmentInfo();
        return part ? part->OffsetInBits + 1 : 0;
    }

    // A variable that stayed in memory is read and written there; no value holds it.
    void note_memory(const Function& function) {
        for (const BasicBlock& block : function) {
            for (const Instruction& instruction : block) {
                for (DbgVariableRecord& record : records_before(instruction)) {
                    if (record.isDbgDeclare() && !record.isKillLocation()) {
                        in_memory_.insert({record.getVariable(), part_key(record)});
                    }
                }
            }
        }
    }

    void write_rows(const BasicBlock& block) {
        int index = 0;
        for (const Instruction& instruction : block) {
            note_bindings(instruction, numbers_.block(&block), index);
            if (!is_marker(instruction)) {
                rows_.write(instruction);
                ++index;
            }
        }
        instruction_count_ += index;
    }

    void note_bindings(const Instruction& instruction, int block, int index) {
        for (DbgVariableRecord& record : records_before(instruction)) {
            if (record.isDbgDeclare() || lives_in_memory(record)) {
                continue;
            }
            auto part = record.getExpression()->getFragmentInfo();
            Binding binding{
                block, index, numbers_.variable(*record.getVariable(), part),
                std::nullopt, numbers_.location(record.getDebugLoc().get())};
            if (!record.isKillLocation() && names_value(record)) {
                binding.value = numbers_.value(record.getVariableLocationOp(0));
            }
            add(binding);
        }
    }

    // Promotion and the mark of the assignment may both tell; the one with a line wins.
    void add(const Binding& binding) {
        for (auto known = bindings_.rbegin();
             known != bindings_.rend() && known->block == binding.block &&
             known->index == binding.index;
             ++known) {
            if (known->variable == binding.variable && known->value == binding.value) {
                known->location = std::max(known->location, binding.location);
                return;
            }
        }
        bindings_.push_back(binding);
    }

    bool lives_in_memory(const DbgVariableRecord& record) const {
        return in_memory_.count({record.getVariable(), part_key(record)}) > 0;
    }

    void write_binding(const Binding& binding) {
        out_.array([&] {
            out_.value(binding.block);
            out_.value(binding.index);
            out_.value(binding.variable);
            if (binding.value) {
                out_.value(*binding.value);
            } else {
                out_.value(nullptr);
            }
            out_.value(binding.location);
        });
    }

    json::OStream& out_;
    BodyNumbers& numbers_;
    InstructionWriter rows_;
    std::vector<Binding> bindings_;
    std::set<std::pair<const DILocalVariable*, uint64_t>> in_memory_;
    int instruction_count_ = 0;
};

template <typename Names>
void write_names(json::OStream& out, StringRef key, const Names& names) {
    out.attributeArray(key, [&] {
        for (const auto& name : names) {
            out.value(StringRef(name));
        }
    });
}

void write_member_stores(json::OStream& out, const CallsMade& calls) {
    out.attributeArray("member_stores", [&] {
        for (const auto& [member, function] : calls.member_stores) {
            out.array([&] {
                out.value(member);
                if (function.empty()) {
                    out.value(nullptr);
                } else {
                    out.value(function);
                }
            });
        }
    });
}

struct Totals {
    int values, instructions;
};

void write_header(json::OStream& out, UnitContext& unit, const Function& function,
                  const CallsMade& calls, const Mentioned& mentioned,
                  const Totals& totals) {
    const DISubprogram* subprogram = function.getSubprogram();
    const DISubroutineType* type = subprogram ? subprogram->getType() : nullptr;
    const DIType* returned =
        type && type->getTypeArray().size() > 0 ? type->getTypeArray()[0] : nullptr;
    out.object([&] {
        write_interface(out, unit, function);
        out.attribute("linkage", linkage_word(function));
        out.attribute("file", subprogram ? unit.files.index(subprogram->getFile()) : 0);
        out.attribute("line", subprogram ? static_cast<int>(subprogram->getLine()) : 0);
        out.attribute("return_type", unit.types.index(returned));
        write_names(out, "calls", calls.names);
        write_names(out, "takes", mentioned.functions);
        write_names(out, "signatures", calls.signatures);
        write_names(out, "globals", mentioned.globals);
        write_member_stores(out, calls);
        out.attribute("values", totals.values);
        out.attribute("instructions", totals.instructions);
    });
}

} // namespace

void write_function(raw_ostream& stream, UnitContext& unit, Function& function) {
    BodyNumbers numbers(unit, function);
    CallsMade calls;
    std::string body;
    raw_string_ostream body_stream(body);
    json::OStream body_out(body_stream);
    BodyWriter writer(body_out, unit, numbers, calls);
    body_out.object([&] {
        body_out.attributeBegin("blocks");
        writer.write_blocks(function);
        body_out.attributeEnd();
        body_out.attributeBegin("bindings");
        writer.write_bindings();
        body_out.attributeEnd();
        body_out.attributeBegin("constants");
        numbers.write_constants(body_out);
        body_out.attributeEnd();
        body_out.attributeBegin("locations");
        numbers.write_locations(body_out);
        body_out.attributeEnd();
        body_out.attributeBegin("variables");
        numbers.write_variables(body_out);
        body_out.attributeEnd();
    });
    body_out.flush();
    std::sort(calls.signatures.begin(), calls.signatures.end());
    calls.signatures.erase(
        std::unique(calls.signatures.begin(), calls.signatures.end()),
        calls.signatures.end());
    json::OStream header_out(stream);
    write_header(header_out, unit, function, calls, numbers.mentioned,
                 {numbers.value_count(), writer.instruction_count()});
    header_out.flush();
    stream << '\n' << body << '\n';
}

} // namespace leakline

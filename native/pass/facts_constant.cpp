#include "facts_constant.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/GlobalAlias.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;

namespace leakline {

namespace {

constexpr unsigned kMaxPlainScalars = 1024;
constexpr size_t kMaxTextCharacters = 256;

struct Address {
    const GlobalValue* symbol = nullptr;
    int64_t offset = 0;
};

// The symbol and offset that a constant pointer or its integer form stands for.
Address address_of(const DataLayout& layout, const Constant& constant) {
    APInt offset(64, 0);
    const Value* value = &constant;
    while (true) {
        if (const auto* step = dyn_cast<GEPOperator>(value)) {
            APInt delta(layout.getIndexTypeSizeInBits(step->getType()), 0);
            if (!step->accumulateConstantOffset(layout, delta)) {
                return {};
            }
            offset += delta.sextOrTrunc(64);
            value = step->getPointerOperand();
        } else if (const auto* alias = dyn_cast<GlobalAlias>(value)) {
            value = alias->getAliasee();
        } else if (const auto* expression = dyn_cast<ConstantExpr>(value);
                   expression && expression->isCast()) {
            value = expression->getOperand(0);
        } else if (const auto* local = dyn_cast<DSOLocalEquivalent>(value)) {
            value = local->getGlobalValue();
        } else {
            break;
        }
    }
    return {dyn_cast<GlobalValue>(value), offset.getSExtValue()};
}

void write_integer(json::OStream& out, const ConstantInt& constant) {
    SmallString<32> digits;
    constant.getValue().toString(digits, 10, constant.getBitWidth() > 1);
    out.rawValue(digits);
}

void write_address(json::OStream& out, const Address& address, Mentioned& mentioned) {
    StringRef name = address.symbol->getName();
    bool is_function =
        isa<Function>(address.symbol) || isa<GlobalIFunc>(address.symbol);
    (is_function ? mentioned.functions : mentioned.globals).insert(name);
    out.value(is_function ? "function" : "global");
    out.value(name);
    if (!is_function) {
        out.value(address.offset);
    }
}

// A constant expression may hide addresses; they still count as taken.
void mention_all(const Constant& constant, Mentioned& mentioned) {
    SmallVector<const Constant*, 8> pending{&constant};
    SmallPtrSet<const Constant*, 8> seen;
    while (!pending.empty()) {
        const Constant* next = pending.pop_back_val();
        if (!seen.insert(next).second) {
            continue;
        }
        if (const auto* symbol = dyn_cast<GlobalValue>(next)) {
            auto& names =
                isa<Function>(symbol) ? mentioned.functions : mentioned.globals;
            names.insert(symbol->getName());
            continue;
        }
        for (const Use& use : next->operands()) {
            if (const auto* operand = dyn_cast<Constant>(use)) {
                pending.push_back(operand);
            }
        }
    }
}

void write_float(json::OStream& out, const ConstantFP& constant) {
    bool lossy = false;
    APFloat number = constant.getValueAPF();
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
    double value = number.convertToDouble();
    out.value("float");
    if (std::isfinite(value)) {
        out.value(value);
    } else {
        out.value(nullptr);
    }
}

class InitialiserWriter {
  public:
    InitialiserWriter(json::OStream& out, const DataLayout& layout)
        : out_(out), layout_(layout) {
    }

    Initialised result() && {
        return std::move(result_);
    }

    void visit(const Constant& constant, int64_t offset) {
        if (constant.isNullValue() || isa<UndefValue>(constant)) {
            return;
        }
        if (const auto* structure = dyn_cast<ConstantStruct>(&constant)) {
            visit_struct(*structure, offset);
        } else if (isa<ConstantArray>(constant) || isa<ConstantVector>(constant)) {
            int64_t step = bytes_of(layout_, constant.getOperand(0)->getType());
            for (const Use& element : constant.operands()) {
                visit(*cast<Constant>(element), offset);
                offset += step;
            }
        } else if (const auto* data = dyn_cast<ConstantDataSequential>(&constant)) {
            visit_data(*data, offset);
        } else {
            scalar(constant, offset);
        }
    }

  private:
    void visit_struct(const ConstantStruct& structure, int64_t offset) {
        const StructLayout* fields = layout_.getStructLayout(structure.getType());
        for (unsigned i = 0; i < structure.getNumOperands(); ++i) {
            int64_t field = static_cast<int64_t>(fields->getElementOffset(i));
            visit(*structure.getOperand(i), offset + field);
        }
    }

    void visit_data(const ConstantDataSequential& data, int64_t offset) {
        if (data.isString()) {
            entry(offset, data.getElementType(), [&] {
                out_.value("text");
                StringRef text = data.getAsString().take_front(kMaxTextCharacters);
                out_.value(json::fixUTF8(text.rtrim('\0')));
            });
            return;
        }
        int64_t step = bytes_of(layout_, data.getElementType());
        for (unsigned i = 0; i < data.getNumElements() && !result_.truncated; ++i) {
            visit(*data.getElementAsConstant(i), offset + step * i);
        }
    }

    void scalar(const Constant& constant, int64_t offset) {
        bool is_plain = isa<ConstantInt>(constant) || isa<ConstantFP>(constant);
        if (is_plain && ++plain_ > kMaxPlainScalars) {
            result_.truncated = true;
            return;
        }
        if (const auto* code =
                dyn_cast<Function>(constant.stripPointerCastsAndAliases())) {
            result_.addresses.push_back({offset, code});
        }
        out_.array([&] {
            out_.value(offset);
            write_ty(out_, layout_, constant.getType());
            write_constant(out_, layout_, constant, mentioned_);
        });
    }

    void entry(int64_t offset, Type* type, llvm::function_ref<void()> constant) {
        out_.array([&] {
            out_.value(offset);
            write_ty(out_, layout_, type);
            out_.array(constant);
        });
    }

    json::OStream& out_;
    const DataLayout& layout_;
    Mentioned mentioned_;
    unsigned plain_ = 0;
    Initialised result_;
};

} // namespace

void write_constant(json::OStream& out, const DataLayout& layout,
                    const Constant& constant, Mentioned& mentioned) {
    out.array([&] {
        if (const auto* number = dyn_cast<ConstantInt>(&constant)) {
            out.value("int");
            write_integer(out, *number);
            out.value(number->getBitWidth());
        } else if (isa<ConstantPointerNull>(constant)) {
            out.value("null");
        } else if (isa<UndefValue>(constant)) {
            out.value("undef");
        } else if (const auto* real = dyn_cast<ConstantFP>(&constant)) {
            write_float(out, *real);
        } else if (Address address = address_of(layout, constant); address.symbol) {
            write_address(out, address, mentioned);
        } else if (constant.isNullValue()) {
            out.value("zero");
            out.value(bytes_of(layout, constant.getType()));
        } else {
            mention_all(constant, mentioned);
            std::string text;
            raw_string_ostream(text) << constant;
            out.value("other");
            out.value(json::fixUTF8(StringRef(text).take_front(kMaxTextCharacters)));
        }
    });
}

Initialised write_initialiser(json::OStream& out, const DataLayout& layout,
                              const Constant& constant) {
    InitialiserWriter writer(out, layout);
    out.array([&] { writer.visit(constant, 0); });
    return std::move(writer).result();
}

} // namespace leakline

#include "stamps_code.h"

#include "stamps_assembly.h"
#include "stamps_layout.h"
#include "stamps_operands.h"

#include "llvm/IR/InlineAsm.h"

#include <string>
#include <vector>

namespace leakline {

namespace {

// Of the registers that notes may need at once, so many are there in any function.
constexpr size_t most_registers = 9;

// More notes in one piece of code would not be looked at any faster.
constexpr size_t most_together = 3;
constexpr size_t most_words_together = 16;

// A site as the sum of a distance that is known, and of what the statement that left a
// scope and the birth add to it. Adds are left to where a stamp is written: most ways
// out of a scope write none.
struct SiteParts {
    uint64_t distance = 0;
    llvm::SmallVector<llvm::Value*, 2> added;

    void add(llvm::Value* part) {
        if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(part)) {
            distance += known->getZExtValue();
        } else {
            added.push_back(part);
        }
    }
};

SiteParts parts_of(llvm::Value* site) {
    SiteParts parts;
    auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(site);
    while (sum != nullptr && sum->getOpcode() == llvm::Instruction::Add) {
        parts.add(sum->getOperand(1));
        site = sum->getOperand(0);
        sum = llvm::dyn_cast<llvm::BinaryOperator>(site);
    }
    parts.add(site);
    return parts;
}

// Otherwise data may lie far from code.
bool is_near(const llvm::GlobalVariable& table) {
    auto model = table.getParent()->getCodeModel();
    return !model || *model == llvm::CodeModel::Small;
}

// One note among those that are written together.
class NoteText {
  public:
    NoteText(const Note& note, const SiteParts& site, llvm::GlobalVariable* sites,
             const std::string& heap_tag, Operands& operands)
        : heap_tag_(heap_tag), distance_(std::to_string(site.distance)) {
        if (note.place != nullptr) {
            place_ = operands.variable(note.place, note.old->getType());
            old_ = "%r8";
        } else {
            old_ = operands.in_register(note.old);
        }
        if (!llvm::isa<llvm::Constant>(note.given)) {
            given_ = operands.in_register(note.given);
        }
        if (is_near(*sites)) {
            near_ = operands.constant(sites);
        } else {
            far_ = operands.in_register(sites);
        }
        for (llvm::Value* value : site.added) {
            added_.push_back(operands.in_register(value));
        }
    }

    const std::string& old() const {
        return old_;
    }

    const std::string& place() const {
        return place_;
    }

    // It is read once: others may write there, too.
    std::string read() const {
        return place_.empty() ? "" : line("movq " + place_ + ", " + old_);
    }

    std::string skip_if_same(const char* where) const {
        return given_.empty() ? ""
                              : line("cmpq " + given_ + ", " + old_) +
                                    line(std::string("je ") + where);
    }

    // Goes there when nothing is to be stamped.
    std::string skip(const char* where) const {
        return read() + skip_if_same(where) + compare_tag(old_, heap_tag_) +
               line(std::string("jne ") + where);
    }

    // Goes to `where` when a stamp is to be written, and to `otherwise` or on when not.
    std::string stamp_at(const char* where, const char* otherwise) const {
        return read() + skip_if_same(otherwise) + compare_tag(old_, heap_tag_) +
               line(std::string("je ") + where);
    }

    std::string load_site(const std::string& reg) const {
        std::string text =
            near_.empty() ? line("leaq " + distance_ + "(" + far_ + "), " + reg)
                          : line("leaq " + near_ + "+" + distance_ + "(%rip), " + reg);
        for (const std::string& value : added_) {
            text += line("addq " + value + ", " + reg);
        }
        return text;
    }

    // So many ticks before the time in r10.
    std::string stamp(size_t ticks_behind) const {
        std::string time = ticks_behind > 0 ? "%r8" : "%r10";
        std::string site = time; // it has been written by then
        std::string text = find_stamp(old_, "%r9");
        if (ticks_behind > 0) {
            text += line("leaq -" + std::to_string(ticks_behind) + "(%r10), %r8");
        }
        return text + write_time(time, "%r9") + load_site(site) +
               write_site_and_context(site, "%r9");
    }

  private:
    std::string heap_tag_;
    std::string place_; // empty: the old value is in a register
    std::string old_;
    std::string given_; // empty: never the same
    // The table: code tells its address by the distance from itself, or else in a
    // register.
    std::string near_;
    std::string far_;
    std::string distance_;
    std::vector<std::string> added_;
};

// A piece of code for some notes, as many of those given as fit into one.
class Piece {
  public:
    Piece(llvm::ArrayRef<Note> notes, llvm::GlobalVariable* sites,
          llvm::AllocaInst* context, llvm::Value* heap_tag, llvm::Function* helper);

    std::string text_in_line() const;
    std::string text_of_call() const;

    void write(llvm::IRBuilder<>& builder, const std::string& text) const;

    size_t size() const {
        return notes_.size();
    }

  private:
    std::string load_context() const;
    std::string count(size_t ticks) const;
    std::string one() const;
    std::string two() const;
    std::string several(const std::string& skip_all) const;
    std::string skip_if_nobody_watches() const;
    std::string skip_if_all_small() const;

    Operands operands_;
    std::string context_;
    std::string heap_tag_;
    std::string helper_;
    std::vector<NoteText> notes_;
    bool in_frame_; // what all of them lost
};

size_t registers_for(const Note& note, const SiteParts& site) {
    return (note.place == nullptr ? 1 : 0) +
           (llvm::isa<llvm::Constant>(note.given) ? 0 : 1) + site.added.size();
}

Piece::Piece(llvm::ArrayRef<Note> notes, llvm::GlobalVariable* sites,
             llvm::AllocaInst* context, llvm::Value* heap_tag, llvm::Function* helper)
    : context_(operands_.variable(context, context->getAllocatedType())),
      heap_tag_(operands_.constant(heap_tag) + "(%rip)"),
      helper_(operands_.function(helper)), in_frame_(notes.front().place != nullptr) {
    size_t most = in_frame_ ? most_words_together : most_together;
    size_t registers = 0;
    for (const Note& note : notes.take_front(most)) {
        SiteParts site = parts_of(note.site);
        registers += registers_for(note, site) + (is_near(*sites) ? 0 : 1);
        bool fits = registers <= most_registers;
        if (!notes_.empty() && (!fits || (note.place != nullptr) != in_frame_)) {
            break;
        }
        notes_.emplace_back(note, site, sites, heap_tag_, operands_);
    }
}

std::string Piece::load_context() const {
    return line("movl " + context_ + ", %r11d");
}

// The time is in r10 behind it. What is rare lies apart, behind all functions. The
// clock is read and written once for all: it would be the slowest part of a stamp, each
// waiting for the one before.
std::string Piece::count(size_t ticks) const {
    std::string number = constant(static_cast<int64_t>(ticks));
    return load_context() + compare_quick() + line("jne 7f") +
           count_alone(number, "%r10") + "8:" + line(".subsection 1") +
           "7:" + line("movl " + number + ", %r9d") + line("leaq 8b(%rip), %r10") +
           line("jmp " + helper_) + line(".previous");
}

std::string Piece::text_in_line() const {
    if (notes_.size() == 1) {
        return one();
    }
    if (in_frame_) {
        return several(skip_if_all_small() + skip_if_nobody_watches());
    }
    return notes_.size() == 2 ? two() : several(skip_if_nobody_watches());
}

std::string Piece::one() const {
    const NoteText& note = notes_.front();
    return note.skip("9f") + count(1) + note.stamp(0) + "9:";
}

// Of two notes often none stamps, or one.
std::string Piece::two() const {
    const NoteText& first = notes_.front();
    const NoteText& second = notes_.back();
    return first.stamp_at("1f", "2f") + "2:" + second.skip("9f") + count(1) +
           line("jmp 3f") + "1:" + count(2) + first.stamp(1) + second.skip("9f") +
           "3:" + second.stamp(0) + "9:";
}

std::string Piece::several(const std::string& skip_all) const {
    std::string text = skip_all + count(notes_.size());
    size_t ticks_behind = notes_.size();
    for (const NoteText& note : notes_) {
        ticks_behind--;
        text += note.skip("5f") + note.stamp(ticks_behind) + "5:";
    }
    return text + "9:";
}

// Of more than two variables mostly one holds a reference.
std::string Piece::skip_if_nobody_watches() const {
    return line("cmpl " + constant(static_cast<int32_t>(no_heap_tag)) + ", " +
                heap_tag_) +
           line("je 9f");
}

// Aggregates are mostly empty when they end, or have not been used at all. Where no
// word has any of a tag's bits, none is a heap pointer.
std::string Piece::skip_if_all_small() const {
    std::string text;
    for (const NoteText& note : notes_) {
        text += line((text.empty() ? "movq " : "orq ") + note.place() + ", %r9");
    }
    return text + line("shrq " + constant(heap_tag_shift) + ", %r9") + line("je 9f");
}

std::string Piece::text_of_call() const {
    const NoteText& note = notes_.front();
    return note.read() + note.skip_if_same("9f") + load_context() +
           note.load_site("%r10") + line("movq " + note.old() + ", %r9") +
           line("call " + helper_) + "9:";
}

// A helper's frame would overwrite what a function keeps below its stack pointer.
void Piece::write(llvm::IRBuilder<>& builder, const std::string& text) const {
    llvm::ArrayRef<const char*> changed = registers_of_notes;
    bool is_simple = notes_.size() == 1 && notes_.front().place().empty();
    operands_.write(builder, text, is_simple ? changed.drop_back() : changed);
    builder.GetInsertBlock()->getParent()->addFnAttr(llvm::Attribute::NoRedZone);
}

} // namespace

NoteCode::NoteCode(llvm::Module& module, llvm::GlobalVariable* sites)
    : module_(module), sites_(sites), note_context_(make_note_context()),
      count_(make_bare("leakline.count", text_of_counting())),
      lose_(make_bare("leakline.lose", text_of_losing())) {
}

void NoteCode::write_in_line(llvm::IRBuilder<>& builder, llvm::ArrayRef<Note> notes,
                             llvm::AllocaInst* context) const {
    while (!notes.empty()) {
        Piece piece(notes, sites_, context, heap_tag(), count_);
        piece.write(builder, piece.text_in_line());
        notes = notes.drop_front(piece.size());
    }
}

void NoteCode::write_call(llvm::IRBuilder<>& builder, const Note& note,
                          llvm::AllocaInst* context) const {
    Piece piece(note, sites_, context, heap_tag(), lose_);
    piece.write(builder, piece.text_of_call());
}

llvm::Value* NoteCode::heap_tag() const {
    return module_.getNamedGlobal(heap_tag_name);
}

// Notes may stand where the stack is not aligned as it is for calls. The hook keeps the
// vector registers.
llvm::Function* NoteCode::make_note_context() const {
    llvm::IRBuilder<> builder(module_.getContext());
    auto* type =
        llvm::FunctionType::get(builder.getVoidTy(), {builder.getInt32Ty()}, false);
    auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage,
                                            "leakline.note_context", module_);
    function->setCallingConv(llvm::CallingConv::PreserveMost);
    function->addFnAttr("stackrealign");
    for (auto attribute : {llvm::Attribute::NoUnwind, llvm::Attribute::NoInline,
                           llvm::Attribute::Cold}) {
        function->addFnAttr(attribute);
    }
    function->setUWTableKind(llvm::UWTableKind::Async);
    builder.SetInsertPoint(
        llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    auto* place =
        builder.CreateIntToPtr(builder.getInt64(hook_address), builder.getPtrTy());
    auto* hook = builder.CreateLoad(builder.getPtrTy(), place);
    builder.CreateCall(type, hook, {function->getArg(0)});
    builder.CreateRetVoid();
    return function;
}

// A function that is nothing but its text; $0 is the heap's tag.
llvm::Function* NoteCode::make_bare(const char* name, const std::string& text) const {
    llvm::LLVMContext& context = module_.getContext();
    llvm::IRBuilder<> builder(context);
    auto* function =
        llvm::Function::Create(llvm::FunctionType::get(builder.getVoidTy(), false),
                               llvm::GlobalValue::InternalLinkage, name, module_);
    for (auto attribute : {llvm::Attribute::Naked, llvm::Attribute::NoUnwind,
                           llvm::Attribute::NoInline, llvm::Attribute::Cold}) {
        function->addFnAttr(attribute);
    }
    function->setUWTableKind(llvm::UWTableKind::Async);
    builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
    auto* place = builder.getPtrTy();
    auto* type = llvm::FunctionType::get(builder.getVoidTy(), {place, place}, false);
    auto* code = llvm::InlineAsm::get(type, text, "i,i", true);
    builder.CreateCall(code, {heap_tag(), note_context_});
    builder.CreateUnreachable();
    return function;
}

} // namespace leakline

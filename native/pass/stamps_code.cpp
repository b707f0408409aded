// The registers of notes: r11 has the context, r10 the time, r9 the stamp, r8 the site,
// unless that is in a register anyway. What is left to a function has what was lost in
// r9 and its site in r10. Code around notes keeps nothing in these.
#include "stamps_code.h"

#include "stamps_layout.h"

#include "llvm/IR/InlineAsm.h"

#include <string>
#include <vector>

namespace leakline {

namespace {

// Operands of the code of notes: these, and then two of each note.
constexpr const char* of_context = "$0";
constexpr const char* of_heap_tag = "${1:c}(%rip)";
constexpr const char* of_helper = "${2:P}";
constexpr size_t operands_before_notes = 3;

// What is lost by notes that are written together has to be in registers at once.
constexpr size_t most_together = 3;

std::string line(const std::string& instruction) {
    return "\t" + instruction + "\n";
}

std::string number(uint64_t value) {
    return std::to_string(value);
}

std::string constant(int64_t value) {
    return "$$" + std::to_string(value);
}

std::string push(const std::string& reg) {
    return line("pushq " + reg) + line(".cfi_adjust_cfa_offset 8");
}

std::string pop(const std::string& reg) {
    return line("popq " + reg) + line(".cfi_adjust_cfa_offset -8");
}

// Compares bits 40..63 of a pointer, through a register of 64 bits and its lower half.
std::string compare_tag(const std::string& pointer, const std::string& tag,
                        const std::string& whole, const std::string& half) {
    return line("movq " + pointer + ", " + whole) +
           line("shrq " + constant(heap_tag_shift) + ", " + whole) +
           line("cmpl " + tag + ", " + half);
}

// Code counts by itself when the process has one thread and the stack of the context is
// known: only then is it among the quick contexts.
std::string compare_quick(const std::string& whole, const std::string& half) {
    static_assert(quick_contexts_size == 1 << 16, "the lower half tells the place");
    return line("movzwl %r11w, " + half) +
           line("cmpl %r11d, " + number(quick_contexts_address) + "(," + whole + ",4)");
}

// Where the process has one thread.
std::string count_alone(const std::string& ticks, const std::string& time) {
    return line("movq " + number(clock_address) + ", " + time) +
           line("addq " + ticks + ", " + time) +
           line("movq " + time + ", " + number(clock_address));
}

// The granule's distance from its stamp is a multiple of its size.
std::string find_stamp(const std::string& old, const std::string& stamp) {
    static_assert(shadow_delta % granule_bytes == 0);
    return line("movabsq " + constant(shadow_delta) + ", " + stamp) +
           line("addq " + old + ", " + stamp) +
           line("andq " + constant(-static_cast<int64_t>(granule_bytes)) + ", " +
                stamp);
}

std::string write_time(const std::string& time, const std::string& stamp) {
    return line("movq " + time + ", (" + stamp + ")");
}

std::string write_site_and_context(const std::string& site, const std::string& stamp) {
    return line("movq " + site + ", " + number(site_offset) + "(" + stamp + ")") +
           line("movl %r11d, " + number(context_offset) + "(" + stamp + ")");
}

// Ticks the clock r9 times in any mode, leaves the time in r10, and lets the runtime
// take the stack of the context in r11 if it is new. Changes r9.
std::string count_in_any_mode() {
    return line("cmpl " + constant(single_thread) + ", " + number(mode_address)) +
           line("jne 2f") + count_alone("%r9", "%r10") + line("jmp 3f") +
           "2:" + line("movq %r9, %r10") +
           line("lock xaddq %r10, " + number(clock_address)) + line("addq %r9, %r10") +
           "3:" + push("%rax") + line("movq " + number(cache_address) + ", %rax") +
           line("movl %r11d, %r9d") +
           line("andl " + constant(context_cache_size - 1) + ", %r9d") +
           line("cmpl %r11d, (%rax,%r9,4)") + pop("%rax") + line("je 4f") +
           push("%rdi") + push("%r11") + line("movl %r11d, %edi") +
           line("call ${1:P}") + pop("%r11") + pop("%rdi") + "4:";
}

// Called in no way: code jumps here with r9 ticks, and with the place to go on in r10,
// which stands on the stack as if it had called. So its frame can be found, although
// the jump comes from code apart from its function.
std::string count_text() {
    return line("pushq %r10") + count_in_any_mode() + line("popq %r9") +
           line("notrack jmpq *%r9");
}

// Stamps r9 if it is a heap pointer; r10 has the site.
std::string lose_text() {
    return push("%rax") + compare_tag("%r9", "${0:c}(%rip)", "%rax", "%eax") +
           line("jne 9f") + find_stamp("%r9", "%rax") + compare_quick("%r9", "%r9d") +
           line("jne 7f") + count_alone(constant(1), "%r9") +
           write_time("%r9", "%rax") + write_site_and_context("%r10", "%rax") +
           line("jmp 9f") + "7:" + push("%r10") +
           line("movl " + constant(1) + ", %r9d") + count_in_any_mode() + pop("%r9") +
           write_time("%r10", "%rax") + write_site_and_context("%r9", "%rax") +
           "9:" + pop("%rax") + line("ret");
}

// Whether code can tell a site by its distance from itself: not where the statement
// that left a scope counts, nor where data may lie far from code.
bool is_near(const llvm::Value* site) {
    auto* table =
        llvm::dyn_cast<llvm::GlobalVariable>(site->stripInBoundsConstantOffsets());
    if (!llvm::isa<llvm::Constant>(site) || table == nullptr) {
        return false;
    }
    auto model = table->getParent()->getCodeModel();
    return !model || *model == llvm::CodeModel::Small;
}

std::string load_context() {
    return line(std::string("movl ") + of_context + ", %r11d");
}

std::string operand(size_t number, const char* modifier) {
    return "${" + std::to_string(number) + modifier + "}";
}

// One note among those that are written together.
class NoteText {
  public:
    NoteText(const Note& note, size_t number)
        : is_near_(is_near(note.site)),
          old_(operand(operands_before_notes + 2 * number, "")),
          site_(operand(operands_before_notes + 2 * number + 1, is_near_ ? ":c" : "")) {
    }

    const std::string& old() const {
        return old_;
    }

    std::string compare_tag() const {
        return leakline::compare_tag(old_, of_heap_tag, "%r9", "%r9d");
    }

    std::string load_site(const std::string& reg) const {
        return line((is_near_ ? "leaq " + site_ + "(%rip), " : "movq " + site_ + ", ") +
                    reg);
    }

    // At a time that stands in a register.
    std::string stamp(const std::string& time) const {
        return find_stamp(old_, "%r9") + write_time(time, "%r9") +
               (is_near_ ? load_site("%r8") + write_site_and_context("%r8", "%r9")
                         : write_site_and_context(site_, "%r9"));
    }

  private:
    bool is_near_;
    std::string old_;
    std::string site_;
};

std::vector<NoteText> texts_of(llvm::ArrayRef<Note> notes) {
    std::vector<NoteText> texts;
    for (const Note& note : notes) {
        texts.emplace_back(note, texts.size());
    }
    return texts;
}

// The time is in r10 behind it. What is rare lies apart, behind all functions.
std::string count(uint64_t ticks) {
    return load_context() + compare_quick("%r10", "%r10d") + line("jne 7f") +
           count_alone(constant(ticks), "%r10") + "8:" + line(".subsection 1") +
           "7:" + line("movl " + constant(ticks) + ", %r9d") +
           line("leaq 8b(%rip), %r10") + line(std::string("jmp ") + of_helper) +
           line(".previous");
}

// Goes to 9 when nothing is to be stamped. Of two notes often none stamps. Of more
// mostly one does: there it is enough that somebody watches.
std::string skip_needless(const std::vector<NoteText>& notes) {
    switch (notes.size()) {
    case 1:
        return notes.front().compare_tag() + line("jne 9f");
    case 2:
        return notes.front().compare_tag() + line("je 1f") +
               notes.back().compare_tag() + line("jne 9f") + "1:";
    default:
        return line("cmpl " + constant(static_cast<int32_t>(no_heap_tag)) + ", " +
                    of_heap_tag) +
               line("je 9f");
    }
}

// The clock is read and written once for all: it would be the slowest part of a stamp,
// each waiting for the one before.
std::string text_in_line(const std::vector<NoteText>& notes) {
    std::string text = skip_needless(notes) + count(notes.size());
    size_t ticks_behind = notes.size();
    for (const NoteText& note : notes) {
        ticks_behind--;
        if (notes.size() > 1) {
            text += note.compare_tag() + line("jne 5f");
        }
        if (ticks_behind > 0) {
            text += line("leaq -" + number(ticks_behind) + "(%r10), %r8");
        }
        text += note.stamp(ticks_behind > 0 ? "%r8" : "%r10") + "5:";
    }
    return text + "9:";
}

std::string text_of_call(const NoteText& note) {
    return load_context() + note.load_site("%r10") +
           line("movq " + note.old() + ", %r9") +
           line(std::string("call ") + of_helper);
}

} // namespace

NoteCode::NoteCode(llvm::Module& module)
    : module_(module), note_context_(make_note_context()),
      count_(make_bare("leakline.count", count_text())),
      lose_(make_bare("leakline.lose", lose_text())) {
}

void NoteCode::write_in_line(llvm::IRBuilder<>& builder, llvm::ArrayRef<Note> notes,
                             llvm::AllocaInst* context) const {
    while (!notes.empty()) {
        llvm::ArrayRef<Note> some = notes.take_front(most_together);
        write(builder, some, context, text_in_line(texts_of(some)), count_);
        notes = notes.drop_front(some.size());
    }
}

void NoteCode::write_call(llvm::IRBuilder<>& builder, const Note& note,
                          llvm::AllocaInst* context) const {
    write(builder, note, context, text_of_call(NoteText(note, 0)), lose_);
}

// A helper's frame would overwrite what a function keeps below its stack pointer.
void NoteCode::write(llvm::IRBuilder<>& builder, llvm::ArrayRef<Note> notes,
                     llvm::AllocaInst* context, const std::string& text,
                     llvm::Function* helper) const {
    llvm::SmallVector<llvm::Value*> operands = {context, heap_tag(), helper};
    std::string constraints = "*m,i,i";
    for (const Note& note : notes) {
        operands.append({note.old, note.site});
        constraints += is_near(note.site) ? ",r,i" : ",r,r";
    }
    llvm::SmallVector<llvm::Type*> types;
    for (llvm::Value* operand : operands) {
        types.push_back(operand->getType());
    }
    auto* type = llvm::FunctionType::get(builder.getVoidTy(), types, false);
    constraints += ",~{r8},~{r9},~{r10},~{r11},~{flags}";
    auto* code = llvm::InlineAsm::get(type, text, constraints, true);
    llvm::CallInst* written = builder.CreateCall(code, operands);
    written->addParamAttr(0, llvm::Attribute::get(builder.getContext(),
                                                  llvm::Attribute::ElementType,
                                                  context->getAllocatedType()));
    written->addFnAttr(llvm::Attribute::NoUnwind);
    builder.GetInsertBlock()->getParent()->addFnAttr(llvm::Attribute::NoRedZone);
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

#include "stamps_wording.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace leakline {

namespace {

constexpr const char* release_words[] = {"del", "done", "kill", "quit", "term"};

// Words that begin so: `freeing`, `closed`, `finalize`.
constexpr const char* release_beginnings[] = {
    "clean",   "clear",     "close",  "deinit", "delete", "destroy", "dispos",
    "discard", "drop",      "fini",   "free",   "purge",  "release", "remove",
    "reset",   "terminate", "uninit", "unref",  "unload", "shut",
};

// Words that end so: `xfree`, `fclose`.
constexpr const char* release_ends[] = {"close", "delete", "destroy", "free", "unref"};

bool is_release(llvm::StringRef word) {
    return llvm::is_contained(release_words, word) ||
           llvm::any_of(release_beginnings,
                        [&](const char* begin) { return word.starts_with(begin); }) ||
           llvm::any_of(release_ends,
                        [&](const char* end) { return word.ends_with(end); });
}

bool is_capital(char letter) {
    return llvm::toLower(letter) != letter;
}

// Words end where their letters do, and before a capital behind a small letter.
size_t end_of_word(llvm::StringRef name) {
    size_t end = 0;
    while (end < name.size() && llvm::isAlpha(name[end]) &&
           !(end > 0 && is_capital(name[end]) && !is_capital(name[end - 1]))) {
        end++;
    }
    return end;
}

} // namespace

bool says_release(llvm::StringRef name) {
    while (!name.empty()) {
        size_t end = end_of_word(name);
        if (is_release(name.take_front(end).lower())) {
            return true;
        }
        name = name.drop_front(std::max<size_t>(end, 1));
    }
    return false;
}

} // namespace leakline

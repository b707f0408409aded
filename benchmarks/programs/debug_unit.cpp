// One unit of a program with much debug information: it is linked in many copies, whose
// symbols get names of their own. Loses a block in a lambda behind library templates.
#include <cstdlib>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

extern "C" void lose_in_unit() {
    std::map<std::string, std::vector<int>> words;
    std::unordered_map<std::string, std::set<long>> numbers;
    std::string text = "word7";
    std::smatch match;
    if (std::regex_match(text, match, std::regex("([a-z]+)([0-9]*)"))) {
        words[match[1]].push_back(1);
        numbers[match[2]].insert(1);
    }
    std::stringstream counts;
    counts << words.size() << numbers.size();
    std::function<void()> lose = [] { *static_cast<volatile char*>(malloc(100)) = 1; };
    lose();
}

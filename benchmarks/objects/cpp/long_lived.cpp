// What each program has of its own for as long as it runs.
static std::vector<string> pool;
static std::map<string, string> dictionary;
static std::map<int, std::map<string, numbers>> nested;
static std::list<numbers> rows;
static std::unordered_map<int, std::unique_ptr<string>> cache;
static std::multimap<int, string> by_length;
static std::deque<std::function<int(int)>> tasks;
static std::priority_queue<string> waiting;
static std::shared_ptr<string> current;
static std::optional<string> last;
static mixture mode;
static record records[4];
static link* history;
static std::unique_ptr<shape> drawn;
static std::vector<buffer> buffers;
static std::any anything;
static char* spare;

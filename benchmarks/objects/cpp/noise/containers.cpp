// Containers that live as long as a function or a scope of it.

void tree_of_strings(int step) {
    std::map<string, string> map_;
    for (int key_ = 0; key_ < 4; key_++) {
        map_[text(N + key_)] = text(M);
    }
    map_.erase(text(N));
}

void table_of_strings(int step) {
    std::unordered_map<string, int> table_;
    for (int key_ = 0; key_ < 5; key_++) {
        table_[text(N + key_)]++;
    }
    count(table_);
}

void sorted(int step) {
    std::vector<string> words_;
    for (int word_ = 0; word_ < 5; word_++) {
        words_.push_back(text(N + (word_ * 3) % 5));
    }
    std::sort(words_.begin(), words_.end());
    look_at(words_.front());
}

void sorted_by_capture(int step) {
    std::vector<string> words_ = {text(N), text(M), text(30), text(29)};
    string best_ = text(M);
    std::sort(words_.begin(), words_.end(),
              [best_](const string& first, const string& second) {
                  return first == best_ || (second != best_ && first < second);
              });
    look_at(words_.back());
}

void list_from_values(int step) {
    std::list<string> words_ = {text(N), text(M)};
    words_.pop_front();
    words_.splice(words_.end(), std::list<string>{text(M), text(N)});
    count(words_);
}

void both_ends(int step) {
    std::deque<string> words_;
    words_.push_back(text(N));
    words_.emplace_front((size_t)M, 'e');
    count(words_);
}

void set_of_strings(int step) {
    std::set<string> words_ = {text(N), text(M)};
    sum += (long)words_.count(text(N));
}

void node_handles(int step) {
    std::map<int, string> from_ = {{1, text(N)}, {2, text(M)}}, to_;
    auto node_ = from_.extract(1);
    node_.key() = 7;
    to_.insert(std::move(node_));
    auto unused_ = from_.extract(2);
    to_.merge(from_);
    count(to_);
}

void emplaced(int step) {
    std::map<string, std::vector<string>> map_;
    map_.emplace(text(N), std::vector<string>(2, text(M)));
    map_.try_emplace(text(N), 3, text(M));
    map_.insert_or_assign(text(M), std::vector<string>{text(N)});
    auto [place_, added_] = map_.emplace(text(M), std::vector<string>{text(20)});
    sum += added_ + (long)place_->second.size();
}

void inner_maps(int step) {
    std::map<int, std::map<int, std::vector<string>>> map_;
    map_[step][1].push_back(text(N));
    map_[step][2].assign(2, text(M));
    map_[step + 1] = map_[step];
    map_.erase(step);
    count(map_);
}

void bits(int step) {
    std::vector<bool> bits_((size_t)N, true);
    bits_.resize((size_t)(M * 40));
    bits_.flip();
    sum += (long)std::count(bits_.begin(), bits_.end(), true);
}

void insert_ranges(int step) {
    std::vector<string> words_ = {text(N), text(M)};
    std::set<string> others_(words_.begin(), words_.end());
    words_.insert(words_.begin() + 1, others_.begin(), others_.end());
    words_.insert(words_.end(), 3, text(N));
    words_.erase(words_.begin(), words_.begin() + 2);
    count(words_);
}

void remove_some(int step) {
    std::vector<string> words_ = {text(N), text(M), text(N), text(50)};
    auto rest_ = std::remove(words_.begin(), words_.end(), text(N));
    words_.erase(rest_, words_.end());
    std::reverse(words_.begin(), words_.end());
    count(words_);
}

void transform(int step) {
    numbers lengths_ = row(N % 9);
    std::vector<string> words_;
    std::transform(lengths_.begin(), lengths_.end(), std::back_inserter(words_),
                   [](int length) { return text(length + 16); });
    numbers twice_;
    for (const auto& word_ : words_) {
        twice_.push_back((int)word_.size());
    }
    count(twice_);
}

void moved_ranges(int step) {
    std::vector<string> from_ = {text(N), text(M)};
    std::vector<string> to_(std::make_move_iterator(from_.begin()),
                            std::make_move_iterator(from_.end()));
    from_ = std::move(to_);
    to_ = {text(20)};
    count(from_);
}

void heap_of_strings(int step) {
    std::priority_queue<string, std::vector<string>, std::greater<string>> queue_;
    queue_.push(text(N));
    queue_.push(text(M));
    take(queue_.top());
    queue_.pop();
}

void bind_by_reference(int step) {
    std::map<string, string> map_ = {{text(N), text(M)}, {text(M), text(N)}};
    for (auto& [key_, value_] : map_) {
        value_ = key_ + value_;
        look_at(value_);
    }
}

void bind_by_value(int step) {
    auto [word_, values_] = text_and_row(N);
    sum += (long)(word_.size() + values_.size());
}

void tied(int step) {
    string word_ = text(M);
    numbers values_;
    std::tie(word_, values_) = text_and_row(N);
    count(values_);
}

void tuples(int step) {
    std::tuple<string, numbers, std::unique_ptr<string>> all_{text(N), row(M),
                                                              owned(N)};
    auto [word_, values_, pointer_] = std::move(all_);
    sum += (long)(word_.size() + values_.size() + pointer_->size());
}

void loop_over_temporary(int step) {
    for (const string& word : std::vector<string>{text(N), text(M)}) {
        sum += (long)word.size();
    }
}

void matrix(int step) {
    std::vector<numbers> matrix_(4, row(N % 8));
    matrix_[1].resize(M);
    matrix_[2].swap(matrix_[3]);
    matrix_.resize(2);
    matrix_.shrink_to_fit();
    count(matrix_);
}

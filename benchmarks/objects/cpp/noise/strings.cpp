// Strings and numbers that are passed, joined and moved.
// `N` and `M` are lengths; each copy of a name that ends in `_` gets a number.

void pass_by_value(int step) {
    take(text(N));
}

void pass_sum(int step) {
    take(text(N) + text(M));
}

void pass_two(int step) {
    take_both(text(N), row(M));
}

void pass_part(int step) {
    look_at(text(N).substr(3) + "x");
}

void pass_rvalue(int step) {
    take_over(text(N));
}

void pass_choice(int step) {
    take(step % 2 != 0 ? text(N) : text(M));
}

void pass_default(int step) {
    take(with_default(N));
}

void pass_parts_of_pairs(int step) {
    take_both(text_and_row(N).first, text_and_row(M).second);
}

void pass_list(int step) {
    sum += (long)total({text(N), text(M), "short"});
}

void pass_view_of_temporary(int step) {
    look_over(std::string_view(text(N)).substr(2));
}

void join_with_numbers(int step) {
    take(std::to_string(step) + text(N) + std::to_string(M));
}

void choose_length(int step) {
    sum += (long)(step % 3 != 0 ? text(N) : string()).size();
}

void append(int step) {
    string longer_ = text(N);
    longer_ += text(M);
    take(longer_);
}

void move_and_reuse(int step) {
    string moved_ = text(N);
    take(std::move(moved_));
    moved_ = text(M);
    sum += (long)moved_.size();
}

void exchange(int step) {
    string before_ = text(N);
    take(std::exchange(before_, text(M)));
    look_at(before_);
}

void copy_and_swap(int step) {
    string first_ = text(N), second_ = first_;
    first_ = text(M);
    first_.swap(second_);
    look_at(second_);
}

void look_through_view(int step) {
    string seen_ = text(N);
    std::string_view view_ = seen_;
    for (std::string_view part_ = view_; part_.size() > 7; part_.remove_prefix(7)) {
        take(string(part_.substr(0, 20)));
    }
}

void replace_inside(int step) {
    string edited_ = text(N);
    edited_.replace(2, 5, text(M)).insert(1, "some more").erase(0, 3);
    edited_.shrink_to_fit();
    look_at(edited_);
}

void swap_in_array(int step) {
    string words_[3] = {text(N), text(M), ""};
    std::swap(words_[0], words_[2]);
    look_at(words_[2]);
}

void array_of_strings(int step) {
    std::array<string, 4> words_{text(N), text(M)};
    words_[3] = words_[0];
    words_ = {text(M), text(N), words_[3]};
    std::rotate(words_.begin(), words_.begin() + 1, words_.end());
    count(words_);
}

void write_to_stream(int step) {
    std::ostringstream stream_;
    stream_ << text(N) << step << std::setw(30) << text(M);
    take(stream_.str());
}

void read_lines(int step) {
    std::stringstream stream_(text(N) + "\n" + text(M) + "\nend");
    for (string line_; std::getline(stream_, line_);) {
        take(line_ + text(17));
    }
}

void read_words(int step) {
    std::istringstream stream_(text(N) + " " + text(M));
    numbers lengths_;
    string word_;
    while (stream_ >> word_) {
        lengths_.push_back((int)word_.size());
    }
    count(lengths_);
}

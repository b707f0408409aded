// Objects of classes that the programs define.

void base_and_derived(int step) {
    auto shape_ = draw(step + N);
    take(shape_->name());
}

void temporary_object(int step) {
    take(draw(step + N)->name());
}

void delete_through_base(int step) {
    coloured* first_ = new dotted();
    shape* second_ = new dotted();
    take(second_->name());
    delete second_;
    delete first_;
}

void delete_most_derived(int step) {
    {
        badge* badge_ = new badge(N);
        take(badge_->name());
        coloured* base_ = badge_;
        delete base_;
    }
}

void slice(int step) {
    circle circle_(N);
    shape shape_ = circle_;
    take(shape_.name() + circle(M).label);
}

void grown_tree(int step) {
    auto tree_ = grow(2, N);
    tree_->children.pop_back();
    sum += (long)tree_->children.size();
}

void action_at_end(int step) {
    string kept_ = text(N);
    at_end last_{[kept_] { sum += (long)kept_.size(); }};
}

void copied_buffer(int step) {
    buffer first_(N), second_ = first_;
    first_ = buffer(M);
    second_ = first_;
    first_ = std::move(second_);
    count(first_);
}

void sum_of_buffers(int step) {
    buffer all_ = buffer(N) + buffer(M) + buffer(5);
    all_ = all_ + all_;
    count(all_);
}

void vector_of_buffers(int step) {
    std::vector<buffer> all_(2, buffer(N));
    all_.push_back(buffer(M));
    all_.insert(all_.begin(), all_[1] + all_[2]);
    count(all_.back());
}

void aggregate(int step) {
    settings settings_{text(N), {1, 2, 3}};
    settings copied_ = settings_;
    copied_.note = text(M);
    settings_ = {};
    settings_ = std::move(copied_);
    count(settings_.limits);
}

void default_members(int step) {
    std::map<int, settings> all_;
    all_[step].title += text(N);
    all_[step + 1].note.emplace(text(M));
    count(all_);
}

void static_local(int step) {
    static std::vector<string> seen_(2, text(N));
    seen_[step % 2 != 0] = text(M);
    static const string first_ = text(N + 1);
    look_at(first_);
}

void local_class(int step) {
    struct pair_of_texts_ {
        string first, second;
        string joined() && {
            return std::move(first) + second;
        }
    };
    take(pair_of_texts_{text(N), text(M)}.joined());
}

void inherited_constructor(int step) {
    struct named_row_ : numbers {
        using numbers::numbers;
        string name = text(40);
    };
    named_row_ row_((size_t)N, 3), other_ = row_;
    other_.name = text(M);
    row_ = std::move(other_);
    count(row_);
}

void converted(int step) {
    struct converting_ {
        string content;
        operator string() const {
            return content + "converted";
        }
    };
    take(converting_{text(N)});
}

// Objects that own one other thing: pointers, optionals, variants, closures, threads.

void unique(int step) {
    auto owner_ = owned(N);
    owner_ = owned(M);
    sum += (long)owner_->size();
}

void unique_to_caller(int step) {
    auto owner_ = owned(N);
    auto other_ = std::move(owner_);
    owner_.reset(new string(text(M)));
    std::swap(owner_, other_);
    delete other_.release();
    sum += (long)owner_->size();
}

void shared_and_weak(int step) {
    auto owner_ = shared(N);
    {
        auto second_ = owner_;
        std::weak_ptr<string> watcher_ = second_;
        owner_ = shared(M);
        if (auto locked_ = watcher_.lock()) {
            sum += (long)locked_->size();
        }
    }
}

void shared_part(int step) {
    auto whole_ = std::make_shared<std::pair<string, numbers>>(text_and_row(N));
    std::shared_ptr<string> part_(whole_, &whole_->first);
    whole_.reset();
    look_at(*part_);
}

void own_deleter(int step) {
    std::unique_ptr<char, decltype(&free)> owner_(strdup(text(N).c_str()), &free);
    std::shared_ptr<char> other_(strdup(text(M).c_str()), free);
    sum += owner_.get()[0] + other_.get()[0];
}

void counted_inside(int step) {
    handle_of_counted first_(new counted(N));
    handle_of_counted second_ = first_;
    first_ = handle_of_counted(new counted(M));
    sum += (long)(first_->size() + second_->size());
}

void optional(int step) {
    if (auto found_ = sometimes(step * N + M)) {
        look_at(*found_);
    }
}

void optional_or_other(int step) {
    sum += (long)sometimes(step + N).value_or(text(M)).size();
}

void variant(int step) {
    auto value_ = one_of_three(step + N);
    value_ = text(M);
    sum += (long)value_.index();
}

void visited(int step) {
    std::visit([](auto&& value) { sum += (long)sizeof value; }, one_of_three(step + N));
}

void any(int step) {
    std::any value_ = text(N);
    value_ = row(M);
    take_both(text(M), std::any_cast<numbers>(value_));
}

void union_of_objects(int step) {
    word_or_row value_(step + N);
    count(value_);
}

void closure_called(int step) {
    sum += adder(N)(step);
}

void closure_replaced(int step) {
    auto function_ = adder(N);
    function_ = adder(M);
    sum += function_(step);
}

void closure_taking_text(int step) {
    [&](string taken) { sum += (long)taken.size(); }(text(N));
}

void closure_that_changes(int step) {
    auto grow_ = [kept = text(N)](int more) mutable {
        kept += text(more);
        return kept;
    };
    take(grow_(M));
    auto copied_ = grow_;
    take(copied_(N));
}

void closure_that_moves(int step) {
    task task_([owner = owned(N)] { return (int)owner->size(); });
    sum += task_();
    task_ = task([values = row(M), owner = owned(M)] { return values[1]; });
    sum += task_();
}

void bound(int step) {
    auto bound_ = std::bind(take_both, text(N), row(M));
    bound_();
}

void joined_thread(int step) {
    string given_ = text(N);
    in_thread([given_, &step] { sum += (long)given_.size() + step; });
}

void thread_with_arguments(int step) {
    in_thread(std::bind(take_both, text(N), row(M)));
}

void placed_in_buffer(int step) {
    alignas(string) static char room_[sizeof(string)];
    string* placed_ = new (room_) string(text(N));
    placed_->append(text(M));
    placed_->~string();
}

void array_of_objects(int step) {
    std::unique_ptr<string[]> words_(new string[3]{text(N), text(M)});
    words_[2] = words_[0] + words_[1];
    string* more_ = new string[2];
    more_[1] = std::move(words_[2]);
    delete[] more_;
}

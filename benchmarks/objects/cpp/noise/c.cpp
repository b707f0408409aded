// C as it is found in C++ programs. A structure has a block of its own: when its
// members are freed by a call, they dangle until its scope ends.

void sorted_words(int step) {
    char* words_[3] = {strdup(text(N).c_str()), strdup(text(M).c_str()), strdup("abc")};
    qsort(words_, 3, sizeof *words_, by_words);
    for (char*& word_ : words_) {
        free(word_);
        word_ = nullptr;
    }
}

void chained(int step) {
    unchain(chain(N % 7));
}

void reversed_chain(int step) {
    link* chain_ = reversed(chain(M % 5));
    unchain(chain_);
}

void filled_record(int step) {
    record record_;
    fill(&record_, N);
    empty(&record_);
}

void returned_record(int step) {
    record record_ = filled(N);
    empty(&record_);
}

void copied_record(int step) {
    record record_ = filled(N);
    record copy_;
    memcpy(&copy_, &record_, sizeof copy_);
    memset(&record_, 0, sizeof record_);
    empty(&copy_);
}

void array_of_records(int step) {
    {
        record records_[3] = {filled(N), filled(M)};
        records_[2] = filled(N);
        std::swap(records_[0], records_[2]);
        for (record& record_ : records_) {
            empty(&record_);
        }
    }
}

void records_on_heap(int step) {
    record* records_ = (record*)calloc(3, sizeof *records_);
    for (int place_ = 0; place_ < 3; place_++) {
        fill(&records_[place_], N + place_);
    }
    for (int place_ = 0; place_ < 3; place_++) {
        empty(&records_[place_]);
    }
    free(records_);
}

void reallocated(int step) {
    char* word_ = strdup(text(N).c_str());
    word_ = (char*)realloc(word_, M);
    free(word_);
}

void reallocated_often(int step) {
    int* values_ = nullptr;
    for (int count_ = 1; count_ < N; count_ *= 3) {
        values_ = (int*)realloc(values_, sizeof *values_ * count_);
        values_[count_ - 1] = count_;
    }
    free(values_);
}

void reallocated_pointers(int step) {
    size_t room_ = 1, used_ = 0;
    char** words_ = (char**)malloc(sizeof *words_);
    for (int turn_ = 0; turn_ < 6; turn_++) {
        if (used_ == room_) {
            room_ *= 2;
            char** more_ = (char**)realloc(words_, room_ * sizeof *words_);
            words_ = more_;
        }
        words_[used_++] = strdup(text(N).c_str());
    }
    while (used_ > 0) {
        free(words_[--used_]);
    }
    free(words_);
}

void printed(int step) {
    char* word_ = nullptr;
    if (asprintf(&word_, "%s%d", text(N).c_str(), step) > 0) {
        free(word_);
    }
}

void lines_of_file(int step) {
    string content_ = text(N) + "\n" + text(M + 120) + "\n";
    FILE* file_ = fmemopen(content_.data(), content_.size(), "r");
    char* line_ = nullptr;
    size_t room_ = 0;
    while (getline(&line_, &room_, file_) > 0) {
        take(line_);
    }
    free(line_);
    fclose(file_);
}

void printed_to_memory(int step) {
    char* content_ = nullptr;
    size_t size_ = 0;
    FILE* file_ = open_memstream(&content_, &size_);
    fprintf(file_, "%s %s\n", text(N).c_str(), text(M).c_str());
    fclose(file_);
    take(string(content_, size_));
    free(content_);
}

void given_back_in_order(int step) {
    char* first_ = (char*)malloc(N);
    char* second_ = (char*)malloc(M);
    if (step % 2 != 0) {
        std::swap(first_, second_);
    }
    free(second_);
    char* third_ = (char*)aligned_alloc(64, 128);
    KEEP(third_);
    free(first_);
    free(third_);
}

void left_by_goto(int step) {
    {
        char* first_ = (char*)malloc(N);
        char* second_ = nullptr;
        if (step % 2 == 0) {
            goto out_;
        }
        second_ = strdup(text(M).c_str());
        KEEP(second_);
    out_:
        free(second_);
        free(first_);
    }
}

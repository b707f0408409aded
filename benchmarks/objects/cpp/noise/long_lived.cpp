// What outlives the function: it is filled, changed and emptied from many places.

void fill_pool(int step) {
    pool.push_back(text(N));
}

void shorten_pool(int step) {
    if (pool.size() > 3) {
        pool.erase(pool.begin() + 1);
    }
}

void clear_pool(int step) {
    if (pool.size() > 5) {
        pool.clear();
        pool.shrink_to_fit();
    }
}

void swap_in_pool(int step) {
    if (pool.size() > 1) {
        std::swap(pool.front(), pool.back());
        pool.pop_back();
    }
}

void add_to_dictionary(int step) {
    dictionary[text(N)] = text(M);
}

void erase_from_dictionary(int step) {
    dictionary.erase(text(N));
}

void prune_dictionary(int step) {
    for (auto entry_ = dictionary.begin(); entry_ != dictionary.end();) {
        if (entry_->second.size() > 60) {
            entry_ = dictionary.erase(entry_);
        } else {
            ++entry_;
        }
    }
}

void rename_in_dictionary(int step) {
    if (auto node_ = dictionary.extract(text(N))) {
        node_.key() = text(M);
        dictionary.insert(std::move(node_));
    }
}

void add_nested(int step) {
    nested[step % 3][text(N)] = row(M);
    if (nested.size() > 2) {
        nested.erase(nested.begin());
    }
}

void turn_rows(int step) {
    rows.push_back(row(N));
    if (rows.size() > 2) {
        rows.pop_front();
    }
}

void put_into_cache(int step) {
    cache[step * 7 % 5] = owned(N);
}

void erase_from_cache(int step) {
    cache.erase(step % 5);
}

void take_from_cache(int step) {
    if (auto found_ = cache.find(N % 5); found_ != cache.end()) {
        std::unique_ptr<string> taken_ = std::move(found_->second);
        cache.erase(found_);
        sum += taken_ ? (long)taken_->size() : 0;
    }
}

void sort_by_length(int step) {
    by_length.emplace(N, text(N));
    auto [from_, to_] = by_length.equal_range(M);
    by_length.erase(from_, to_);
}

void run_tasks(int step) {
    tasks.push_back(adder(N));
    if (tasks.size() > 2) {
        sum += tasks.front()(step);
        tasks.pop_front();
    }
}

void wait_in_queue(int step) {
    waiting.push(text(N));
    if (waiting.size() > 3) {
        take(waiting.top());
        waiting.pop();
    }
}

void replace_current(int step) {
    std::weak_ptr<string> before_ = current;
    current = shared(N);
    sum += before_.expired();
}

void replace_last(int step) {
    last = sometimes(step + N);
}

void replace_mode(int step) {
    mode = one_of_three(step + M);
}

void emplace_mode(int step) {
    mode.emplace<string>(text(N));
    last.emplace((size_t)M, 'l');
}

void replace_record(int step) {
    if (records[step % 4].name != nullptr) {
        empty(&records[step % 4]);
    }
    records[step % 4] = filled(N);
}

void drop_record(int step) {
    empty(&records[N % 4]);
    records[N % 4] = record();
}

void lengthen_history(int step) {
    history = new link{history, strdup(text(N).c_str())};
}

void shorten_history(int step) {
    if (link* first_ = history) {
        history = first_->next;
        free(first_->word);
        delete first_;
    }
}

void draw_another(int step) {
    drawn = draw(step + N);
    take(drawn->name());
}

void grow_buffers(int step) {
    buffers.emplace_back(N);
    if (buffers.size() > 3) {
        buffers.erase(buffers.begin(), buffers.end() - 1);
    }
}

void assign_anything(int step) {
    anything = text(N);
    if (step % 2 != 0) {
        anything = std::make_pair(row(M), text(N));
    }
}

void keep_spare(int step) {
    spare = (char*)realloc(spare, (size_t)(N + step));
    spare[0] = 's';
}

void drop_spare(int step) {
    free(std::exchange(spare, nullptr));
}

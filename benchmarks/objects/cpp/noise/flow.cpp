// Ways through a function that leave scopes with objects in them.

void caught(int step) {
    try {
        fail_if_odd(step + N);
    } catch (const std::exception& error) {
        sum += (long)strlen(error.what());
    }
}

void caught_again(int step) {
    try {
        take(handle(step + N));
    } catch (const std::runtime_error& error) {
        take(error.what());
    }
}

void caught_with_cleanups(int step) {
    try {
        string outer_ = text(N);
        try {
            std::vector<string> inner_ = {text(M), text(N)};
            fail_if_odd(step);
            take(inner_.back());
        } catch (const std::logic_error&) {
            look_at(outer_);
        }
    } catch (const std::runtime_error& error) {
        take(error.what() + text(M));
    }
}

void caught_nested(int step) {
    try {
        try {
            fail_if_odd(2 * step + 1);
        } catch (...) {
            string context_ = text(N);
            std::throw_with_nested(std::logic_error(context_));
        }
    } catch (const std::logic_error& error) {
        try {
            std::rethrow_if_nested(error);
        } catch (const std::runtime_error& inner) {
            take(string(error.what()) + inner.what());
        }
    }
}

void kept_exception(int step) {
    std::exception_ptr kept_;
    try {
        fail_if_odd(2 * step + 1);
    } catch (...) {
        kept_ = std::current_exception();
    }
    try {
        std::rethrow_exception(kept_);
    } catch (const std::runtime_error& error) {
        take(error.what());
    }
}

void failed_constructor(int step) {
    struct fragile_ {
        string first = text(N);
        std::unique_ptr<string> second = owned(M);
        explicit fragile_(int length) {
            fail_if_odd(length);
        }
    };
    try {
        auto object_ = std::make_unique<fragile_>(step);
        look_at(object_->first);
    } catch (const std::runtime_error&) {
        sum++;
    }
}

void thrown_text(int step) {
    try {
        string local_ = text(M);
        throw text(N) + local_;
    } catch (string& thrown) {
        take(std::move(thrown));
    }
}

void cases(int step) {
    switch (step % 3) {
    case 0:
        take(text(N));
        break;
    case 1: {
        string inner_ = text(M);
        look_at(inner_);
        break;
    }
    default:
        look_at(text(30));
    }
}

void loops(int step) {
    for (int turn_ = 0; turn_ < 3; turn_++) {
        string word_ = text(N + turn_);
        if (turn_ == 1) {
            continue;
        }
        take(word_ + text(M));
        if (step == turn_) {
            break;
        }
    }
}

void jump_out(int step) {
    {
        for (int turn_ = 0; turn_ < 4; turn_++) {
            std::vector<string> words_(2, text(N));
            for (const string& word_ : words_) {
                string copy_ = word_ + text(M);
                if (turn_ == step % 4) {
                    goto found_;
                }
                look_at(copy_);
            }
        }
    found_:
        sum++;
    }
}

void jump_back(int step) {
    {
        int turn_ = 0;
    again_:
        string word_ = text(N + turn_);
        if (++turn_ < 3) {
            goto again_;
        }
        take(word_);
    }
}

void returns_from_closure(int step) {
    auto choose_ = [&](int wanted) -> string {
        string first = text(N);
        if (wanted == 0) {
            return first;
        }
        std::vector<string> rest = {text(M), first};
        return wanted == 1 ? rest.front() : rest.back() + first;
    };
    take(choose_(step % 3));
}

void declared_in_condition(int step) {
    if (string word_ = text(N); word_.size() > 30) {
        take(word_);
    } else if (auto other_ = sometimes(M); other_.has_value()) {
        take(*other_ + word_);
    }
}

void recursion(int step) {
    std::function<string(int)> repeated_ = [&](int depth) {
        string word = text(N);
        return depth == 0 ? word : repeated_(depth - 1) + word;
    };
    take(repeated_(3));
}

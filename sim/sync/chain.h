// Chain: a doubly linked list whose links lie in its elements, so that an element leaves in one step and nothing is
// allocated.
#pragma once

#include <cassert>
#include <cstddef>
#include <iterator>

namespace tilecheck {

template <typename T>
struct Links {
  T* previous = nullptr;
  T* next = nullptr;
  bool linked = false;
};

template <typename T, Links<T> T::*kLinks>
class Chain {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = T*;
    using difference_type = std::ptrdiff_t;
    using pointer = T* const*;
    using reference = T*;
    explicit Iterator(T* at) : at_(at) {}
    T* operator*() const { return at_; }
    Iterator& operator++() {
      at_ = (at_->*kLinks).next;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    T* at_;
  };
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(nullptr); }
  bool empty() const { return !first_; }
  size_t size() const { return size_; }
  T* front() const { return first_; }  // null: empty
  T* back() const { return last_; }

  static bool has(const T& element) { return (element.*kLinks).linked; }
  static T* before(const T& element) { return (element.*kLinks).previous; }
  static T* after(const T& element) { return (element.*kLinks).next; }

  void push_back(T& element) {
    assert(!has(element));
    element.*kLinks = {last_, nullptr, true};
    (last_ ? (last_->*kLinks).next : first_) = &element;
    last_ = &element;
    ++size_;
  }
  void erase(T& element) {
    assert(has(element));
    Links<T>& links = element.*kLinks;
    (links.previous ? (links.previous->*kLinks).next : first_) = links.next;
    (links.next ? (links.next->*kLinks).previous : last_) = links.previous;
    links = {};
    --size_;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tilecheck

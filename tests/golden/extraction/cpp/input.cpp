// Orders of the shop.
#include <memory>
#include "shop/order.h"

#define SHOP_VERSION "1.0"

using namespace std::chrono;
using shop::util::Money;
namespace fs = std::filesystem;

extern "C" {
int shop_main(int argc, char** argv);
}

namespace shop {

class Forward;
enum Old { ONE, TWO = 2 };
template <typename T> class Base { protected: T value; };

namespace {
int hidden = 3;
void helper() { log("helper"); }
}  // namespace

/// One order.
///
/// Immutable once paid.
template <typename T, int N = 3>
class SHOP_EXPORT Order final : public Base<T>, private virtual util::Printable {
 public:
  using value_type = T;
  typedef std::vector<Line> Lines;
  enum class State : char { Open = 'o', Paid };
  struct Position { int x, y; } position_;

  explicit Order(std::string name, int count = 1)
      : name_(std::move(name)), Base<T>(count), lines_{count} { open(); }
  Order(const Order&) = delete;
  Order& operator=(const Order& other) = default;
  virtual ~Order();

  bool operator==(const Order& other) const { return name_ == other.name_; }
  explicit operator bool() const noexcept;
  T& operator[](std::size_t index);

  /* Closes it. */
  virtual void close(int code) = 0;
  void print(std::ostream& out) const override;
  [[nodiscard]] auto total() const -> decltype(price_ * 2);
  template <class U> U convert(U&& value);
  static std::unique_ptr<Order> create(T first, Line... rest);
  static int count;

  friend class Printer;
  friend std::ostream& operator<<(std::ostream& out, const Order& order);

 protected:
  void (*callback_)(int, const char*) = nullptr;
  std::unique_ptr<Store> store_;

 private:
  std::string name_;
  Lines lines_;
  int price_ = 0;
  void check();
};

using Handler = std::function<void(const Order<int>&)>;
constexpr int kLimit = 10;
static const char* kNames[] = {"a", "b"};
Order<int>* current;

template <typename T, int N>
void Order<T, N>::check() {
  store_->save("orders", 1);
  this->price_ = kLimit;
}

}  // namespace shop

shop::Printable::Printable(int width) : width_(width) {}
shop::Printable::~Printable() { delete width_; }
int shop::Printable::instances = 0;
shop::Printable::operator int() const { return width_; }

bool shop::Printable::print(const Line& line) {
  Line copy(line, 2);
  Store store{"main"};
  auto made = std::make_unique<Line>("x");
  auto* raw = new shop::Line(line);
  const auto found = registry.find("key");
  auto handler = [this, &copy](const Line& other) -> bool { return other.size > copy.size; };
  for (auto& [key, entry] : entries_) entry.visit(handler, key);
  std::cout << "hi" << kLimit;
  try {
    shop::util::text::trim(line.name);
    Base<int>::close(1);
    Line::create()->print<int>(3);
    convert<Money>(line);
  } catch (const errors::Broken& error) {
    throw std::runtime_error("broken");
  }
  switch (state) { case Order::State::Paid: return true; case ONE: break; }
  using std::swap;
  ++counter;
  raw->state = static_cast<int>(copy.state);
  if (auto* line = dynamic_cast<Line*>(raw)) throw Failure{R"(a "raw" one)", 3};
  struct Local { void run() { go(); } };
  return fs::exists(shop_name) && raw;
}

void shop::helper_outside() { shop::helper(); }

template <> struct shop::Traits<int> { static constexpr bool value = true; };

TEST(OrderTest, IsOpen) { EXPECT_TRUE(Order<int>("x").open()); }

static int local_helper(void) { return 0; }
std::string operator""_money(const char* text, std::size_t size);

# frozen_string_literal: true

require "json"
require_relative "order/line"
require File.expand_path("../legacy", __FILE__)
autoload :Invoice, "shop/invoice"

# Everything about orders.
module Shop
  VERSION = "1.0".freeze
  LEFT, RIGHT = 1, 2

  # One order.
  #
  # Immutable once paid.
  class Order < Base::Model
    include Comparable, Shop::Priced
    extend ClassMethods
    prepend Audited
    using Refined

    attr_accessor :title, :note
    # @return [Customer]
    attr_reader 'customer'
    @@count = 0
    @registry ||= {}

    # @param number [Integer]
    # @param [Line, nil] line
    # @return [void]
    def initialize(number, line = nil, *rest, key:, limit: 10, **options, &block)
      super(number)
      @number = number
      @store = Store.new("orders", limit: limit)
      @@count += 1
      self.note = options[:note]
      @lines ||= Shop::Lines.build(rest)
    end

    def total = lines.sum(&:price)

    def ==(other)
      other.is_a?(Order) && number == other.number
    end

    def [](index); @lines[index]; end
    def title=(value); @title = value.strip; end
    def paid?; !!paid_at; end

    def self.create(...) = new(...)

    class << self
      attr_reader :registry

      def register(name) = registry.store(name, self)

      private

      def reset; @registry = nil; end
    end

    private

    def check!(amount)
      raise ArgumentError, "negative" if amount < 0
      raise Errors::TooMany.new("no more", amount) unless amount < LIMIT
      raise
    end

    protected def compare(other); other.number <=> @number; end

    public

    def save(store, copy: nil)
      result = store.transaction("save", retries: 3) do |session, (first, last), *others|
        session.insert(first)
        helper.log("saved #{title}") { |entry; local| entry.level = :info }
      end
      a, (b, *c), @last, copy.state = result
      counter = 1
      counter += 1
      copy&.close
      text = <<~SQL
        select #{counter}
      SQL
      store.execute(<<~SQL, counter)
        update orders
      SQL
      case result
      in { state: String => state, total: } then notify(state, total)
      in [Integer => code, *] then code
      end
      begin
        File.open(path, "w").puts(text)
      rescue IOError, Errors::Broken => error
        log error
      ensure
        finish
      end
      handler = ->(event) { event.call(ENV.fetch("SHOP_MODE", nil)) }
      handler.(Shop::VERSION)
      yield a, b, c
    end

    def pending; end
    private :pending
    private_class_method :create
    private_constant :VERSION
    private attr_writer :secret

    define_method(:closed?) { |now, zone = nil| now > @closed_at }
    alias to_s title
    alias_method :size, :total
    validates :title, presence: true
  end

  Point = Struct.new(:x, :y) do
    def length; Math.sqrt(x * x + y * y); end
  end
  Failed = Class.new(StandardError)

  refine String do
    def shout; upcase; end
  end

  module_function

  def helper(name) = name
end

class Shop::Deep::Export < Struct.new(:rows)
  sig { params(row: Row, width: T.nilable(Integer)).returns(String) }
  def line(row, width) = row.join(" ")

  if RUBY_VERSION > "3"
    def modern; end
  end
end

String.class_eval do
  def blank?; strip.empty?; end
end

def main(arguments)
  order = Shop::Order.new 1, key: "k"
  order.save(store)
end

main ARGV

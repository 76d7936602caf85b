-- Orders of the shop.
local json = require("json")
local util = require "shop.util"
local Base = require("shop.base")

local M = {}
local LIMIT, open = 50, "open"
local Order = setmetatable({}, { __index = Base })
Order.__index = Order
Order.kind = "order"

--- Makes an order.
-- @param number its number
function Order.new(number, ...)
  local self = setmetatable({}, Order)
  self.number = number
  self.store = util.Store.new("orders")
  return self
end

function Order:save(force)
  self.store:insert("saved", self.number)
  if force then goto done end
  for index, line in ipairs(self.lines) do
    line.price = LIMIT + index
  end
  for i = 1, 10 do print(i, open) end
  ::done::
  local ok, err = pcall(function() error("bad") end)
  return ok and json.encode { ok = ok, err }
end

M.VERSION = "1.0"
M.Order = Order

local function helper(value) return value * 2 end
local double = function(value) return helper(value) end

function M.total(order, callback)
  callback(order)
  counter = (counter or 0) + 1
  return double(order.total)
end

M.on_close = function(event) event.call(M.VERSION) end

function M.deep.nested() end

function global_helper() dofile("legacy.lua") end

local shop = Order.new(1)
shop:save [[text]]

return M

'use strict';

const express = require('express');
const { readFile, join: joinPath } = require('fs');
const log = require('./log')('shop');
require('./side-effect');
var util = require('util'),
  counter = 0;

/**
 * Makes the router.
 * @param {Object} options
 */
function makeRouter(options, callback = noop, { strict, ...more } = {}) {
  const router = express.Router();
  var self = this;
  router.get('/orders/:id', authorise, function onOrder(req, res, next) {
    const order = find(req.params.id);
    counter++;
    if (!order) return next(new NotFound('no order'));
    res.send(render(order, strict));
  });
  router.use(`/static`, express.static(joinPath(__dirname, 'public')));
  callback(self.value);
  return router;
}

class Cart extends Model.Base {
  static defaults = { size: 1 };
  #items = [];

  constructor(owner) {
    super();
    this.owner = owner;
    this.store = new Store(owner);
  }

  static async *stream(chunk) {
    yield* chunk.items;
  }

  get total() {
    return this.#items.reduce((sum, item) => sum + item.price, 0);
  }

  'quoted name'() {}
}

const debounce = (fn, ms) => (...args) => setTimeout(() => fn(...args), ms);
const Anonymous = class extends Cart {};

Cart.prototype.clear = function () {
  this.items = [];
};
util.extra = function extra(a) {};
exports.VERSION = '1.0';
exports.helper = async (x) => x;

module.exports = {
  makeRouter,
  Cart,
  name: 'shop',
  rules: {
    meta: { fixable: true },
    create(context) {
      return {
        Identifier(node) {
          context.report({ node, message: 'no' });
        },
        'Program:exit': (node) => finish(node),
      };
    },
  },
  load: async function (path) {
    throw Error('not yet ' + path);
  },
};

(function iife() {
  var hidden = 1;
  hidden = 2;
  globalThing = hidden;
})();
label: for (let i = 0, n = items.length; i < n; i++) continue label;
new Legacy;
new Modern(1, 'two');

//go:build linux && !race

// Package shop sells things.
package shop

/*
#include <stdio.h>
static int twice(int x) { return 2 * x; }
*/
import "C"

import (
	"context"
	"fmt"
	. "math"
	_ "embed"

	"github.com/shop/go-money/v2"
	v1 "k8s.io/api/core/v1"
	"gopkg.in/yaml.v3"
)

// State says where an order stands.
type State int

// The states.
const (
	Open State = iota // not paid yet
	Paid
	_
	Closed
	Low, High = 1, "high"
)

const limit = 10

var (
	// ErrMissing is returned for unknown orders.
	ErrMissing = fmt.Errorf("missing %d", limit)
	registry   = map[State][]Order{Paid: {{ID: 1, Lines: []Line{{SKU: "a"}}}}}
	left, right = split(), newClient("x")
)

var _ Store = (*memory)(nil)
var onSave = func(order *Order, opts ...Option) error { return order.Check(limit) }

type (
	// Key is what orders are found by.
	Key[T comparable] struct {
		value T
		next  *Key[T]
	}
	Handler = func(context.Context, Order) (int, error)
)

// Store keeps orders.
type Store interface {
	fmt.Stringer
	Reader[Order]
	// Save writes one order.
	Save(ctx context.Context, order *Order, retries, wait int) (id State, err error)
	Close()
}

type Number interface{ ~int | ~float64 }

// Order is one order.
//
//go:generate stringer -type=Order
type Order struct {
	*Base[State]
	v1.ObjectMeta `json:"metadata,omitempty"`
	ID            int                             `json:"id" db:"pk"` // primary key
	Lines, Gifts  []Line                          // what is sold
	hook          func(ctx context.Context) error // called on save
	totals        struct {
		net, gross money.Amount
	}
}

func init() { fmt.Println("first") }
func init() { C.twice(2) }

// Check tells whether an order is whole.
//go:noinline
func (o *Order) Check(max int) (ok error) {
	if err := o.hook(context.TODO()); err != nil {
		return fmt.Errorf("check %w", /* the cause */ err)
	}
	o.ID++
	o.totals.net, limitHit = 1, true
	for i, line := range o.Lines {
		line.Add(i, line.SKU)
	}
	return nil
}

func (memory) Save(ctx context.Context, order *Order, _, wait int) (State, error) {
	key := Key[string]{value: "x"}
	other := &v1.Pod{ObjectMeta: v1.ObjectMeta{Name: key.value}}
	client, err := newClient(`raw "x"`, 2)
	first, second := Line{}, order.Gifts[0]
	var pod, spare *v1.Pod
	const local = 3
	buffer, fresh, sizes := []byte("x"), new(Order), make(map[string]int, local)
	client.Core().Pods("ns").Get(ctx, pod.Name)
	go func(order Order, done chan<- bool) { done <- order.Check(1) == nil }(*order, nil)
	defer client.mutex.Unlock()
	switch kind := err.(type) {
	case *MissingError, v1.Fault:
		kind.Explain()
	case nil:
	}
	if missing, found := err.(*MissingError); found {
		panic("lost: " + missing.Error())
	}
	check := (*Order).Check
	sorted := Sort[int, string](first, check)
	mapped := yaml.Map[Line](second)
	(&Order{ID: local}).Check(Low)
	err.(*MissingError).Explain()
	select {
	case event, open := <-client.events:
		event.Apply(open)
	case client.events <- buffer:
	}
	type row struct{ name string }
	tests := []struct {
		name string
		want State
	}{{name: "paid", want: Paid}}
	check(spare, other, sorted, mapped, tests, sizes, row{name: Sprint(fresh)})
	return Closed, nil
}

func (k *Key[T]) Value() T { return k.value }

// Map applies a function.
func Map[T any, U Number](items []T, apply func(item T) U) []U {
	found := make([]U, 0, len(items))
	for _, item := range items {
		found = append(found, apply(item))
	}
	return found
}

func assembly(x int) int

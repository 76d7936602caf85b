package shop

import "fmt"

type Order struct {
	ID int
	Name string `json:

func (o *Order) Total( {
	fmt.Println("x"
}

type Line struct {
	SKU string
}

func Save(order *Order) error {
	return order.Write(1, )
}

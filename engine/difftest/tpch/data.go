package tpch

import (
	"fmt"
	"math"

	"github.com/streamsforge/streamsforge/engine/types"
)

// Table is a relation with the columns that identify a row.
type Table struct {
	Name   string
	Schema types.Schema
	Key    []string
}

func fields(kind types.Kind, names ...string) (out types.Schema) {
	for _, n := range names {
		out = append(out, types.Field{Name: n, Kind: kind})
	}
	return out
}

func columns(parts ...types.Schema) (out types.Schema) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// Tables are the eight relations; a row of Data has its values in the order of the columns here.
var Tables = []Table{
	{"region", columns(fields(types.Long, "r_regionkey"), fields(types.String, "r_name")), []string{"r_regionkey"}},
	{"nation", columns(fields(types.Long, "n_nationkey", "n_regionkey"), fields(types.String, "n_name")), []string{"n_nationkey"}},
	{"supplier", columns(fields(types.Long, "s_suppkey", "s_nationkey"), fields(types.Double, "s_acctbal"),
		fields(types.String, "s_name", "s_address", "s_phone", "s_comment")), []string{"s_suppkey"}},
	{"part", columns(fields(types.Long, "p_partkey", "p_size"), fields(types.Double, "p_retailprice"),
		fields(types.String, "p_name", "p_mfgr", "p_brand", "p_type", "p_container")), []string{"p_partkey"}},
	{"partsupp", columns(fields(types.Long, "ps_partkey", "ps_suppkey", "ps_availqty"), fields(types.Double, "ps_supplycost")), []string{"ps_partkey", "ps_suppkey"}},
	{"customer", columns(fields(types.Long, "c_custkey", "c_nationkey"), fields(types.Double, "c_acctbal"),
		fields(types.String, "c_name", "c_address", "c_phone", "c_mktsegment", "c_comment")), []string{"c_custkey"}},
	{"orders", columns(fields(types.Long, "o_orderkey", "o_custkey", "o_shippriority"), fields(types.Double, "o_totalprice"),
		fields(types.String, "o_orderstatus", "o_orderdate", "o_orderpriority", "o_comment")), []string{"o_orderkey"}},
	{"lineitem", columns(fields(types.Long, "l_orderkey", "l_linenumber", "l_partkey", "l_suppkey"),
		fields(types.Double, "l_quantity", "l_extendedprice", "l_discount", "l_tax"),
		fields(types.String, "l_returnflag", "l_linestatus", "l_shipdate", "l_commitdate", "l_receiptdate", "l_shipinstruct", "l_shipmode")),
		[]string{"l_orderkey", "l_linenumber"}},
}

// Row is a row of a table.
type Row struct {
	Table  string
	Values []types.Value
}

// Data is a growing and shrinking set of orders over fixed other tables.
type Data struct {
	state     uint64
	suppliers int
	parts     int
	customers int
	nextOrder int64
	prices    []float64
	orders    [][]Row // every order that is there, with its lines
}

// The sizes at scale 1.
const (
	suppliers = 40
	parts     = 120
	customers = 100
	orders    = 500
)

var (
	regions = []string{"AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"}
	nations = []string{"ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE", "ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES",
		"INDIA", "INDONESIA", "JAPAN", "CHINA", "VIETNAM", "FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM",
		"EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"}
	colors     = []string{"forest", "green", "azure", "lemon", "navy", "plum"}
	sizes      = []string{"ECONOMY ANODIZED", "MEDIUM POLISHED", "PROMO BRUSHED", "SMALL PLATED"}
	metals     = []string{"STEEL", "BRASS", "TIN"}
	containers = []string{"SM CASE", "SM BOX", "MED BOX", "MED BAG", "LG CASE", "LG BOX"}
	segments   = []string{"AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY"}
	priorities = []string{"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"}
	modes      = []string{"AIR", "AIR REG", "MAIL", "SHIP", "TRUCK", "RAIL"}
	instructs  = []string{"DELIVER IN PERSON", "COLLECT COD", "NONE"}
	words      = []string{"carefully", "special", "ironic", "requests", "packages", "pending", "deposits", "quick"}
)

// next is the generator's step (splitmix64): the same seed gives the same data on every machine.
func (d *Data) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (d *Data) below(n int) int { return int(d.next() % uint64(n)) }

func (d *Data) from(list []string) string { return list[d.below(len(list))] }

func (d *Data) money(lo, hi float64) float64 {
	cents := math.Round((hi - lo) * 100)
	return math.Round(lo*100+float64(d.below(int(cents)+1))) / 100
}

func (d *Data) comment() string {
	return d.from(words) + " " + d.from(words) + " " + d.from(words) + " " + d.from(words)
}

// date is a day counted from 1992-01-01.
func date(day int) string {
	out, _ := types.AppendTime(nil, int64(day)*86_400_000+694224000000)
	return string(out[:10])
}

func row(table string, values ...any) Row {
	r := Row{Table: table}
	for _, v := range values {
		switch v := v.(type) {
		case int:
			r.Values = append(r.Values, types.LongOf(int64(v)))
		case int64:
			r.Values = append(r.Values, types.LongOf(v))
		case float64:
			r.Values = append(r.Values, types.DoubleOf(v))
		case string:
			r.Values = append(r.Values, types.StringOf(v))
		default:
			panic(fmt.Sprintf("BUG: a value of type %T", v))
		}
	}
	return r
}

// New makes the fixed tables and the first orders.
func New(seed uint64, scale int) (*Data, []Row) {
	d := &Data{state: seed, suppliers: suppliers * scale, parts: parts * scale, customers: customers * scale, nextOrder: 1}
	var out []Row
	for i, name := range regions {
		out = append(out, row("region", i, name))
	}
	for i, name := range nations {
		out = append(out, row("nation", i, i/5, name))
	}
	phone := func(nation int) string { return fmt.Sprintf("%d-%03d-%04d", nation+10, d.below(1000), d.below(10000)) }
	for i := range d.suppliers {
		nation, comment := d.below(len(nations)), d.comment()
		if i%9 == 3 {
			comment = "sly Customer insists Complaints"
		}
		out = append(out, row("supplier", i+1, nation, d.money(-999, 9999), fmt.Sprintf("Supplier#%09d", i+1), d.from(words), phone(nation), comment))
	}
	for i := range d.parts {
		price := d.money(900, 2000)
		d.prices = append(d.prices, price)
		m := 1 + d.below(3)
		out = append(out, row("part", i+1, 1+d.below(8), price, d.from(colors)+" "+d.from(colors), fmt.Sprintf("Manufacturer#%d", m),
			fmt.Sprintf("Brand#%d%d", m, 1+d.below(2)), d.from(sizes)+" "+d.from(metals), d.from(containers)))
		for s := range 4 {
			out = append(out, row("partsupp", i+1, d.supplierOf(i, s), 1+d.below(500), d.money(1, 1000)))
		}
	}
	for i := range d.customers {
		nation := d.below(len(nations))
		out = append(out, row("customer", i+1, nation, d.money(-999, 9999), fmt.Sprintf("Customer#%09d", i+1), d.from(words), phone(nation), d.from(segments), d.comment()))
	}
	return d, append(out, d.Insert(orders*scale)...)
}

// supplierOf is the s-th of the four suppliers of a part.
func (d *Data) supplierOf(part, s int) int { return (part+s*(d.suppliers/4+1))%d.suppliers + 1 }

// Insert is RF1: n new orders, each with one to seven lines.
func (d *Data) Insert(n int) []Row {
	var out []Row
	for range n {
		o := d.order()
		d.orders = append(d.orders, o)
		out = append(out, o...)
	}
	return out
}

func (d *Data) order() []Row {
	const current = 1263 // 1995-06-17
	key, day, total, open := d.nextOrder, d.below(2400), 0.0, 0
	d.nextOrder++
	count := 1 + d.below(7)
	lines := make([]Row, 0, count+1)
	lines = append(lines, Row{})
	for n := range count {
		part := d.below(d.parts)
		quantity := float64(1 + d.below(50))
		price := math.Round(quantity*d.prices[part]*100) / 100
		discount, tax := float64(d.below(11))/100, float64(d.below(9))/100
		ship := day + 1 + d.below(121)
		commit, receipt := day+30+d.below(61), ship+1+d.below(30)
		flag, status := "N", "O"
		if receipt <= current {
			flag = []string{"R", "A"}[d.below(2)]
		}
		if ship <= current {
			status = "F"
		} else {
			open++
		}
		total += price * (1 + tax) * (1 - discount)
		lines = append(lines, row("lineitem", key, n+1, part+1, d.supplierOf(part, d.below(4)), quantity, price, discount, tax, flag, status,
			date(ship), date(commit), date(receipt), d.from(instructs), d.from(modes)))
	}
	status := "P"
	if open == 0 {
		status = "F"
	} else if open == count {
		status = "O"
	}
	customer := 1 + d.below(d.customers)
	if customer%3 == 0 { // a third of the customers never orders
		customer = customer%d.customers + 1
	}
	lines[0] = row("orders", key, customer, 0, math.Round(total*100)/100, status, date(day), d.from(priorities), d.comment())
	return lines
}

// Delete is RF2: n orders leave, with their lines. It returns the rows that were there.
func (d *Data) Delete(n int) []Row {
	var out []Row
	for range min(n, len(d.orders)) {
		at := d.below(len(d.orders))
		out = append(out, d.orders[at]...)
		d.orders[at] = d.orders[len(d.orders)-1]
		d.orders = d.orders[:len(d.orders)-1]
	}
	return out
}

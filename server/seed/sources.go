package seed

import (
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/server/catalog"
)

// Sources are the generators of the demo world.
func Sources() []catalog.Source {
	return []catalog.Source{
		generator("trades", "Synthetic trade prints", "trades", 8,
			text("symbol"), double("price"), long("qty"), text("side"), text("venue")),
		generator("quotes", "Synthetic top-of-book quotes", "quotes", 10,
			text("symbol"), double("bid"), double("ask"), long("bidSize"), long("askSize"), text("venue")),
		generator("orders", "Synthetic order lifecycle events", "orders", 4,
			text("symbol"), text("orderId"), text("side"), long("qty"), double("limitPrice"), text("status")),
		generator("app_events", "nested JSON application events", "json-events", 3,
			text("eventType"),
			object("payload",
				object("user", text("id"), text("tier")),
				object("order", text("symbol"), long("qty"), double("price")),
				object("tags"))),
		generator("structures", "swaps and option strategies with a typed leg list", "multileg", 3,
			text("trade_id"), text("product"), text("notional_ccy"),
			list("legs", long("leg_no"), text("pay_rcv"), double("notional"), text("ccy"), text("rate_type"), double("rate"),
				text("cp"), double("strike"), timestamp("expiry_ts"), double("ratio"))),
		generator("order_events", "order state machines", "lifecycle", 5,
			text("order_id"), text("symbol"), text("side"), text("stage"), long("stage_rank"), timestamp("stage_ts"),
			long("qty"), long("filled_qty"), double("px")),
	}
}

func generator(name, description, profile string, perSecond float64, fields ...catalog.Field) catalog.Source {
	s := catalog.NewSource()
	s.Name, s.Description, s.GeneratorProfile, s.EventsPerSecond, s.Fields = name, description, profile, perSecond, fields
	return s
}

func field(name string, kind types.Kind, children []catalog.Field) catalog.Field {
	return catalog.Field{Name: name, Type: kind, Children: children}
}

func text(name string) catalog.Field      { return field(name, types.String, nil) }
func double(name string) catalog.Field    { return field(name, types.Double, nil) }
func long(name string) catalog.Field      { return field(name, types.Long, nil) }
func timestamp(name string) catalog.Field { return field(name, types.Timestamp, nil) }

func object(name string, children ...catalog.Field) catalog.Field {
	return field(name, types.Json, children)
}

func list(name string, children ...catalog.Field) catalog.Field {
	f := field(name, types.Json, children)
	f.IsArray = true
	return f
}

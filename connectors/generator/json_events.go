package generator

import "strconv"

var (
	eventTypes = []string{"order.placed", "order.amended", "order.cancelled"}
	tiers      = []string{"gold", "silver", "bronze"}
	eventTags  = []string{"web", "mobile", "api", "priority", "retry"}
)

// jsonEvents are application events with a nested payload.
type jsonEvents struct{ *market }

func (p *jsonEvents) appendRow(dst []byte, _ int64) []byte {
	symbol, mid := p.event()
	o := object{b: dst}
	o.text("eventType", pick(p.r, eventTypes))
	o.key("payload")

	user := object{b: append(o.b, `{"user":{`...)}
	user.text("id", "u-"+strconv.Itoa(1+p.r.IntN(999)))
	user.text("tier", pick(p.r, tiers))

	order := object{b: append(user.b, `},"order":{`...)}
	order.text("symbol", symbol)
	order.long("qty", p.quantity())
	order.double("price", p.around(mid, 0.0005), 2)

	return append(p.appendTags(append(order.b, `},"tags":[`...)), ']', '}')
}

// appendTags appends a non-empty subset of the tags in their fixed order.
func (p *jsonEvents) appendTags(dst []byte) []byte {
	set := 1 + p.r.IntN(1<<len(eventTags)-1)
	more := false
	for i, t := range eventTags {
		if set&(1<<i) == 0 {
			continue
		}
		if more {
			dst = append(dst, ',')
		}
		more = true
		dst = append(dst, '"')
		dst = append(dst, t...)
		dst = append(dst, '"')
	}
	return dst
}

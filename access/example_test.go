package access_test

import (
	"fmt"

	"github.com/streamsforge/streamsforge/access"
)

// A deny beats every allow, however exact that one is.
func ExampleDecide() {
	grants := []access.Grant{
		{Action: "pipeline.*", Scope: "prod-orders", Effect: access.Allow},
		{Action: "pipeline.write", Scope: "prod-*", Effect: access.Deny},
	}
	for _, action := range []string{"pipeline.read", "pipeline.write", "table.read"} {
		d := access.Decide(grants, access.Request{Env: "default", Action: action, Scope: "prod-orders"})
		fmt.Printf("%s: %v %q\n", action, d.Allowed, d.Reason)
	}
	// Output:
	// pipeline.read: true ""
	// pipeline.write: false "denied by grant pipeline.write on prod-*"
	// table.read: false "no grant matches 'table.read' on 'prod-orders'"
}

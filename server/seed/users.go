package seed

import "github.com/streamsforge/streamsforge/access"

// Users are the logins of a server that has none. Their passwords are public knowledge,
// which the server says loudly while one of them is alive.
func Users() []access.NewUser {
	return []access.NewUser{
		{Username: "admin", Password: "admin123!", DisplayName: "Administrator", Role: access.Admin, Demo: true},
		{Username: "editor", Password: "editor123!", DisplayName: "Editor", Role: access.Editor, Demo: true},
		{Username: "viewer", Password: "viewer123!", DisplayName: "Viewer", Role: access.Viewer, Demo: true},
	}
}

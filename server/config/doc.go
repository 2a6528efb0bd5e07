// Package config is the one place that knows every setting of StreamsForge.
//
// A setting is one entry of the registry (Keys): its name, type, default,
// meaning, aliases and the field of Settings that it fills. The loader, the
// error messages, `config show`, `config explain`, `config check` and the page
// docs/configuration.md all read that table, so a key cannot exist in one of
// them and be missing in another.
//
// A value comes from the first of these sources that has it:
//
//	flag         --Http:Port 8080   or   --Http:Port=8080
//	environment  HTTP__PORT=8080
//	file         {"Http": {"Port": 8080}} in streamsforge.json, or in --config FILE
//	default      the registry
//
// Names are case-insensitive everywhere. A key that the registry does not know
// is an error with a suggestion, never silently ignored; an environment variable
// is only judged when its first section is one of ours, because the environment
// belongs to everybody.
//
//	loaded, err := config.Load(config.Input{Args: os.Args[1:], Environ: os.Environ(), Dir: "."})
//	if err != nil {
//		return err // a config.Errors: one line for each problem
//	}
//	fmt.Println(loaded.Settings.HTTP.Port, loaded.Origin("Http:Port"))
//
// A program that embeds the server starts from Default and sets fields.
package config

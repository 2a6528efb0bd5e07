package config

import "strings"

// readFlags takes settings from a command line: `--Key value`, `--Key=value`, and
// `--Key` alone for a switch. It also takes `--config FILE`.
func readFlags(args []string) (settings []raw, configFile string, help bool, problems []*Problem) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "-h" || arg == "--help" {
			help = true
			continue
		}
		name, ok := strings.CutPrefix(arg, "--")
		if !ok || name == "" {
			problems = append(problems, &Problem{Key: arg, Message: "is not understood", Origin: "command line",
				Hint: "settings are written --Section:Key value"})
			continue
		}
		name, value, has := strings.Cut(name, "=")
		if !has && i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
			// A switch takes the next word only when that word is a truth value, so that
			// `--Tls:Enabled serve` does not swallow the command.
			if key, _, _, _ := resolve(name); key == nil || key.Type != Bool || isBool(args[i+1]) {
				i++
				value, has = args[i], true
			}
		}
		if strings.EqualFold(name, "config") {
			if !has || value == "" {
				problems = append(problems, &Problem{Key: "--config", Message: "names no file", Origin: "command line"})
			}
			configFile = value
			continue
		}
		settings = append(settings, raw{name: name, text: value, bare: !has, source: FromFlag, origin: "flag --" + name})
	}
	return settings, configFile, help, problems
}

func isBool(s string) bool {
	_, ok := parseBool(s)
	return ok
}

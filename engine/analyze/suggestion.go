package analyze

// DidYouMean is the hint for a name that does not exist, as diagnostics of statements give it: the closest of the
// names that do, or all of them, after the noun, when they are few; "" when there is nothing to say.
func DidYouMean(name string, names []string, noun string) string {
	return didYouMean(name, names, noun)
}

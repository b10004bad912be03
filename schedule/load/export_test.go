package load

// For tests of package schedule_test, which may import what imports schedule.
var (
	TestOptions = testOptions
	Reference   = reference
)

// Mistakes returns the text of each invalid fixture by its name.
func Mistakes() map[string]string {
	all := map[string]string{}
	for _, m := range mistakes {
		all[m.name] = m.yaml
	}
	return all
}

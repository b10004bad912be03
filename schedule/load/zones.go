package load

import (
	"strings"
	"sync"
)

// This file holds names that people give to time zones, with the places that have them.

// placeOfZone returns the places whose zone a name stands for, as a hint lists them: "Asia/Kolkata,
// Asia/Jerusalem or Europe/Dublin". It returns "" for a name that it does not know.
func placeOfZone(name string) string { return placesByName()[plainZone(name)] }

var placesByName = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, row := range [][2]string{
		// Abbreviations that tzdata does not have as names.
		{"PST, PDT", "America/Los_Angeles"}, {"MDT", "America/Denver"}, {"CDT", "America/Chicago"},
		{"EDT, ET", "America/New_York"}, {"CST", "America/Chicago or Asia/Shanghai"},
		{"AKST, AKDT", "America/Anchorage"},
		{"IST", "Asia/Kolkata, Asia/Jerusalem or Europe/Dublin"}, {"BST", "Europe/London"},
		{"CEST, MEZ, MESZ", "Europe/Berlin"}, {"WEST", "Europe/Lisbon"}, {"EEST", "Europe/Athens"},
		{"MSK", "Europe/Moscow"}, {"JST", "Asia/Tokyo"}, {"KST", "Asia/Seoul"}, {"HKT", "Asia/Hong_Kong"},
		{"SGT", "Asia/Singapore"}, {"AEST, AEDT", "Australia/Sydney"}, {"AWST", "Australia/Perth"},
		{"NZST, NZDT", "Pacific/Auckland"}, {"SAST", "Africa/Johannesburg"}, {"BRT", "America/Sao_Paulo"}, {"Z", "UTC"},

		// Countries with one zone, and towns without a zone of their name.
		{"Germany, Deutschland", "Europe/Berlin"}, {"China", "Asia/Shanghai"}, {"India", "Asia/Kolkata"},
		{"France", "Europe/Paris"}, {"Italy", "Europe/Rome"}, {"Austria", "Europe/Vienna"},
		{"Switzerland", "Europe/Zurich"}, {"Netherlands", "Europe/Amsterdam"}, {"Belgium", "Europe/Brussels"},
		{"Poland", "Europe/Warsaw"}, {"Sweden", "Europe/Stockholm"}, {"Norway", "Europe/Oslo"},
		{"Denmark", "Europe/Copenhagen"}, {"Finland", "Europe/Helsinki"}, {"Greece", "Europe/Athens"},
		{"UK, England", "Europe/London"}, {"South Korea, Korea", "Asia/Seoul"},
		{"Hamburg, Munich, Muenchen, München, Frankfurt, Cologne, Köln, Stuttgart, Leipzig, Dresden", "Europe/Berlin"},
		{"Beijing, Shenzhen, Guangzhou", "Asia/Shanghai"}, {"Mumbai, Delhi, New Delhi, Bangalore", "Asia/Kolkata"},
		{"San Francisco, Seattle", "America/Los_Angeles"}, {"Washington, Boston, Miami", "America/New_York"},
		{"Geneva, Basel, Bern", "Europe/Zurich"},
		{"Milan", "Europe/Rome"}, {"Barcelona", "Europe/Madrid"},
		{"Lyon, Marseille", "Europe/Paris"}, {"Manchester, Edinburgh", "Europe/London"},
		{"Rotterdam", "Europe/Amsterdam"},

		// Names of Windows.
		{"W. Europe Standard Time", "Europe/Berlin"}, {"Romance Standard Time", "Europe/Paris"},
		{"Central Europe Standard Time", "Europe/Budapest"}, {"Central European Standard Time", "Europe/Warsaw"},
		{"GMT Standard Time", "Europe/London"}, {"FLE Standard Time", "Europe/Helsinki"},
		{"GTB Standard Time", "Europe/Bucharest"},
		{"Russian Standard Time", "Europe/Moscow"}, {"Turkey Standard Time", "Europe/Istanbul"},
		{"Eastern Standard Time", "America/New_York"}, {"Central Standard Time", "America/Chicago"},
		{"Mountain Standard Time", "America/Denver"}, {"Pacific Standard Time", "America/Los_Angeles"},
		{"China Standard Time", "Asia/Shanghai"}, {"India Standard Time", "Asia/Kolkata"},
		{"Tokyo Standard Time", "Asia/Tokyo"}, {"Singapore Standard Time", "Asia/Singapore"},
		{"AUS Eastern Standard Time", "Australia/Sydney"}, {"E. South America Standard Time", "America/Sao_Paulo"},
	} {
		for _, name := range strings.Split(row[0], ", ") {
			all[plainZone(name)] = row[1]
		}
	}
	return all
})

// plainZone writes Europe/Munich, munich and MUNICH alike.
func plainZone(name string) string {
	_, town, hasRegion := strings.Cut(name, "/")
	if !hasRegion {
		town = name
	}
	return strings.ToLower(strings.NewReplacer("_", " ", "-", " ").Replace(town))
}

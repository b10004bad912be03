package yamldoc

import "testing"

func TestSizes(t *testing.T) {
	for _, row := range []struct {
		text  string
		bytes int64 // -1: it is no size
	}{
		{"64MB", 64 << 20}, {"64M", 64 << 20}, {"64MiB", 64 << 20}, {"64 mi", 64 << 20}, {"1i", -1}, {"64B", -1},
		{"MB", -1}, {"64 mb", 64 << 20}, {"1.5GB", 3 << 29}, {"16KB", 16 << 10}, {"0KB", 0}, {"2TB", 2 << 40},
		{"64", -1}, {"", -1}, {"MB", -1}, {"-1MB", -1}, {"NaNMB", -1}, {"1e30GB", -1}, {"10 megabytes", -1},
		{"+3m", -1}, {"1e3KB", -1}, {"InfMB", -1}, {"0x1MB", -1},
	} {
		bytes, ok := parseSize(row.text)
		if ok != (row.bytes >= 0) || ok && bytes != row.bytes {
			t.Errorf("%q is %d bytes, %v", row.text, bytes, ok)
		}
	}
}

// FuzzParseSize: ParseSize reads the text that SizeText writes as the same size.
func FuzzParseSize(f *testing.F) {
	f.Add("10MB")
	f.Add("0.3KB")
	f.Add("-0TB")
	f.Fuzz(func(t *testing.T, text string) {
		bytes, ok := parseSize(text)
		if !ok {
			return
		}
		if again, ok := parseSize(SizeText(bytes)); bytes < 0 || !ok || again != bytes {
			t.Errorf("%q is %d bytes, written as %s: %d", text, bytes, SizeText(bytes), again)
		}
	})
}

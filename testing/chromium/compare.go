package chromium

import (
	"image"
	"image/color"
)

const (
	shrunkBy = 8  // pixels of a window are one pixel of a small picture
	cellSize = 3  // pixels of a small picture that are compared as one
	nearBy   = 12 // of 255: how much the colours of two cells may differ
)

// Small returns the photo an eighth as wide and high: each pixel is the mean of a square.
func (p Photo) Small() *image.NRGBA {
	size := p.Bounds().Size().Div(shrunkBy)
	small := image.NewNRGBA(image.Rectangle{Max: size})
	for y := range size.Y {
		for x := range size.X {
			small.SetNRGBA(x, y, meanOf(p.NRGBA, image.Pt(x, y), shrunkBy))
		}
	}
	return small
}

// meanOf returns the mean colour of a square of a picture that is divided into squares.
func meanOf(picture *image.NRGBA, at image.Point, size int) color.NRGBA {
	var r, g, b int
	for y := at.Y * size; y < (at.Y+1)*size; y++ {
		for x := at.X * size; x < (at.X+1)*size; x++ {
			c := picture.NRGBAAt(x, y)
			r, g, b = r+int(c.R), g+int(c.G), b+int(c.B)
		}
	}
	n := size * size
	return color.NRGBA{uint8(r / n), uint8(g / n), uint8(b / n), 255}
}

// Apart returns by how many percent two small pictures of one size differ. It compares cells of 24
// pixels of the window. A cell may lie one cell further in the other picture, because letters that
// are drawn a little wider move what is right of them.
func Apart(a, b *image.NRGBA) float64 {
	ours, theirs := cellsOf(a), cellsOf(b)
	return max(ours.lacking(theirs), theirs.lacking(ours))
}

// cells are the mean colours of a picture, row by row.
type cells [][]color.NRGBA

func cellsOf(picture *image.NRGBA) cells {
	size := picture.Bounds().Size().Div(cellSize)
	all := make(cells, size.Y)
	for y := range all {
		for x := range size.X {
			all[y] = append(all[y], meanOf(picture, image.Pt(x, y), cellSize))
		}
	}
	return all
}

// lacking returns how many percent of the cells other cells do not have.
func (c cells) lacking(other cells) float64 {
	lacks, all := 0, 0
	for y, row := range c {
		for x, cell := range row {
			if all++; !other.has(cell, x, y) {
				lacks++
			}
		}
	}
	return 100 * float64(lacks) / float64(max(1, all))
}

// has reports whether there is such a cell at a place or beside it.
func (c cells) has(cell color.NRGBA, x, y int) bool {
	isNear := func(a, b uint8) bool { return max(a, b)-min(a, b) <= nearBy }
	for _, row := range c[max(0, y-1):min(len(c), y+2)] {
		for _, other := range row[max(0, x-1):min(len(row), x+2)] {
			if isNear(cell.R, other.R) && isNear(cell.G, other.G) && isNear(cell.B, other.B) {
				return true
			}
		}
	}
	return false
}

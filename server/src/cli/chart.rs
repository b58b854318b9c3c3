//! Pictures in a page, as SVG. In integers: a tenth of a unit is small enough.

pub(super) mod bars;
pub(super) mod curves;

/// How wide a picture is, in units of the drawing; the page scales it.
pub(super) const WIDTH: u64 = 960;

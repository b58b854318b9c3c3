//! What holds for every message and for any bytes.

mod borrowing;
mod headers;
mod hostile;
mod memory;
mod parts;
mod round_trip;
mod splitting;

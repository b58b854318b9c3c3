//! State that moves between engines: the same decisions as if it had stayed, and nothing taken in that is not sound.
#![allow(clippy::unwrap_used, reason = "what cannot fail in a test need not say why")]

mod call;
mod changes;
mod moving;
mod refused;
mod walk;
mod world;

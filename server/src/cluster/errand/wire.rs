//! What travels on a line: errands one way, answers the other. Each file is one thing and its way to and from its bytes.

pub(super) mod answer;
pub(super) mod block;
pub(super) mod numbers;
pub(super) mod order;

//! Later in this hour.

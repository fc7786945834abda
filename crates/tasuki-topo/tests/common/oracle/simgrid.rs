//! Flows in SimGrid.

//! The network namespace of a session, and the user namespace that owns it.
//!
//! Only descriptors keep them alive. When the last clone is dropped and the last command has ended, the kernel removes
//! both.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// A session's loopback. Clones refer to the same one.
#[derive(Debug, Clone)]
pub struct SessionNet(Arc<Namespaces>);

#[derive(Debug)]
struct Namespaces {
    user: OwnedFd,
    net: OwnedFd,
}

impl SessionNet {
    pub(crate) fn new(user: OwnedFd, net: OwnedFd) -> Self {
        Self(Arc::new(Namespaces { user, net }))
    }

    pub(crate) fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.0.user.as_fd(), self.0.net.as_fd()]
    }
}

//! The reading of addresses by the system's resolver, without a question to a server.

use std::{ffi::CString, mem::MaybeUninit, net::IpAddr, ptr};

/// Returns the address that the C library reads a text as. `None`: the text is not an address.
#[must_use]
pub fn address(text: &str) -> Option<IpAddr> {
    let text = CString::new(text).ok()?;
    // SAFETY: all fields of `addrinfo` are numbers or pointers, for which zero is valid.
    let mut hints: libc::addrinfo = unsafe { MaybeUninit::zeroed().assume_init() };
    hints.ai_flags = libc::AI_NUMERICHOST;
    hints.ai_socktype = libc::SOCK_STREAM;
    let mut found = ptr::null_mut();
    // SAFETY: `text` ends in NUL, `hints` is initialized, and `found` receives a list or stays null.
    if unsafe { libc::getaddrinfo(text.as_ptr(), ptr::null(), &raw const hints, &raw mut found) } != 0 {
        return None;
    }
    // SAFETY: `getaddrinfo` succeeded, so `found` is a list with at least one element, whose address has the size of
    // its family. The list is freed once, after its last use.
    unsafe {
        let address = match (*found).ai_family {
            libc::AF_INET => {
                let socket = (*found).ai_addr.cast::<libc::sockaddr_in>().read_unaligned();
                Some(IpAddr::from(socket.sin_addr.s_addr.to_ne_bytes()))
            }
            libc::AF_INET6 => {
                let socket = (*found).ai_addr.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(IpAddr::from(socket.sin6_addr.s6_addr))
            }
            _ => None,
        };
        libc::freeaddrinfo(found);
        address
    }
}

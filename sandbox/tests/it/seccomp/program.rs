//! Programs that make one system call, as machine code. They need no compiler, and make calls that no library would.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const BASE: u64 = 0x40_0000;
const HEADERS: u64 = 64 + 56;
/// The address of the text that calls receive.
pub(super) const TEXT: u64 = BASE + HEADERS;
const TEXT_LENGTH: usize = 16;

/// Returns a program that makes one call with at most six arguments, and exits with 0 or with the error number.
pub(super) fn of_call(number: u64, args: &[u64]) -> Vec<u8> {
    // mov into rdi, rsi, rdx, r10, r8, r9.
    let registers = [[0x48, 0xbf], [0x48, 0xbe], [0x48, 0xba], [0x49, 0xba], [0x49, 0xb8], [0x49, 0xb9]];
    let mut code = Vec::new();
    for (index, register) in registers.iter().enumerate() {
        code.extend(register);
        code.extend(args.get(index).copied().unwrap_or(0).to_le_bytes());
    }
    // mov rax, number; syscall
    code.extend([0x48, 0xb8]);
    code.extend(number.to_le_bytes());
    code.extend([0x0f, 0x05]);
    code.extend(EXIT);
    elf(&code)
}

/// Returns a program that makes one call without arguments again and again.
pub(super) fn of_endless_call(number: u64) -> Vec<u8> {
    // mov rax, number; syscall; jmp to the begin
    let mut code = vec![0x48, 0xb8];
    code.extend(number.to_le_bytes());
    code.extend([0x0f, 0x05, 0xeb, 0xf2]);
    elf(&code)
}

/// Returns a program that makes an i386 call without arguments.
pub(super) fn of_i386_call(number: u32) -> Vec<u8> {
    // mov eax, number; int 0x80; movsxd rax, eax
    let mut code = vec![0xb8];
    code.extend(number.to_le_bytes());
    code.extend([0xcd, 0x80, 0x48, 0x63, 0xc0]);
    code.extend(EXIT);
    elf(&code)
}

/// Exits with the error in rax, or with 0.
const EXIT: [u8; 18] = [
    0x48, 0x85, 0xc0, // test rax, rax
    0x79, 0x06, // jns over the next three
    0xf7, 0xd8, // neg eax
    0x89, 0xc7, // mov edi, eax
    0xeb, 0x02, // jmp over the next
    0x31, 0xff, // xor edi, edi
    0xb8, 0x3c, 0x00, 0x00, 0x00, // mov eax, exit
];

fn elf(code: &[u8]) -> Vec<u8> {
    let entry = TEXT + TEXT_LENGTH as u64;
    // Includes the last instruction, syscall.
    let length = HEADERS + TEXT_LENGTH as u64 + code.len() as u64 + 2;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    // An executable for x86_64, version 1.
    file.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    for word in [entry, 64, 0] {
        file.extend(word.to_le_bytes());
    }
    // No flags; the sizes of this header and of the one program header; no sections.
    file.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    // One segment, readable and executable: the whole file.
    file.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    for word in [0, BASE, BASE, length, length, 0x1000] {
        file.extend(word.to_le_bytes());
    }
    let mut text = b"device".to_vec();
    text.resize(TEXT_LENGTH, 0);
    file.extend(text);
    file.extend(code);
    file.extend([0x0f, 0x05]);
    file
}

/// Writes a program that every user can execute.
pub(super) fn write(path: &Path, program: &[u8]) {
    fs::write(path, program).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

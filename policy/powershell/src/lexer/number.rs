//! Numbers. A number that does not fit its type is a word in a command and an error in an expression.

use super::Lexer;
use super::reading::{Numbers, Words};
use crate::chars::{ends_number, ends_token, is_dash};
use crate::token::{Kind, Token};
use crate::tree::Parse;

/// The text of a number after the scan, before the check of its range.
struct Shape {
    digits: String,
    negative: bool,
    base: u32,
    real: bool,
    suffix: String,
    multiplier: i128,
}

impl Numbers for Lexer<'_> {
    fn number(&mut self, first: char) -> Parse<Token> {
        let shape = number_shape(self, first);
        let fits = match &shape {
            None => Some(false),
            Some(shape) => shape.fits(),
        };
        match fits {
            Some(true) => Ok(self.token(Kind::Number)),
            Some(false) if shape.is_none() || !self.in_expression() => {
                self.at = self.start;
                self.word(String::new())
            }
            Some(false) => self.fault("bad_number"),
            None => self.fault("number_not_understood"),
        }
    }

    fn is_number(&mut self, first: char) -> bool {
        number_shape(self, first).is_some()
    }
}

/// Reads the characters of a number. Returns `None` if they are the start of a word. The position is then undefined.
fn number_shape(lexer: &mut Lexer<'_>, first: char) -> Option<Shape> {
    let mut shape = Shape {
        digits: String::new(),
        negative: is_dash(first),
        base: 10,
        real: false,
        suffix: String::new(),
        multiplier: 1,
    };
    let first = if is_dash(first) || first == '+' { lexer.take() } else { first };
    let mut valid = true;
    let next = lexer.peek();
    if first == '.' {
        shape.real = true;
        shape.digits.push('.');
        valid = fraction(lexer, &mut shape);
    } else if first == '0' && matches!(next, 'x' | 'X' | 'b' | 'B') {
        lexer.take();
        shape.base = if matches!(next, 'x' | 'X') { 16 } else { 2 };
        digits(lexer, &mut shape);
        valid = shape.base == 16 || !shape.digits.is_empty();
    } else {
        shape.digits.push(first);
        digits(lexer, &mut shape);
        match lexer.peek() {
            '.' if lexer.peek_second() != '.' => {
                lexer.take();
                shape.real = true;
                shape.digits.push('.');
                valid = fraction(lexer, &mut shape);
            }
            'e' | 'E' => {
                shape.real = true;
                valid = exponent(lexer, &mut shape);
            }
            _ => {}
        }
    }
    valid &= suffix(lexer, &mut shape);
    let next = lexer.peek();
    let ends = ends_token(next) || (lexer.in_expression() && ends_number(next, lexer.in_ternary));
    (valid && ends).then_some(shape)
}

fn digits(lexer: &mut Lexer<'_>, shape: &mut Shape) -> usize {
    let before = shape.digits.len();
    while lexer.peek().is_digit(shape.base) {
        let digit = lexer.take();
        shape.digits.push(digit);
    }
    shape.digits.len() - before
}

fn fraction(lexer: &mut Lexer<'_>, shape: &mut Shape) -> bool {
    digits(lexer, shape);
    !matches!(lexer.peek(), 'e' | 'E') || exponent(lexer, shape)
}

fn exponent(lexer: &mut Lexer<'_>, shape: &mut Shape) -> bool {
    lexer.take();
    shape.digits.push('e');
    let sign = lexer.peek();
    if sign == '+' || is_dash(sign) {
        lexer.take();
        shape.digits.push(if sign == '+' { '+' } else { '-' });
    }
    digits(lexer, shape) > 0
}

/// Reads the suffixes of the type and of the multiplier. Returns false if the whole is no number.
fn suffix(lexer: &mut Lexer<'_>, shape: &mut Shape) -> bool {
    while matches!(lexer.peek().to_ascii_lowercase(), 'u' | 's' | 'l' | 'd' | 'y' | 'n')
        && shape.suffix.len() < 2
    {
        let letter = lexer.take().to_ascii_lowercase();
        shape.suffix.push(letter);
    }
    let known = matches!(shape.suffix.as_str(), "" | "u" | "s" | "l" | "d" | "y" | "n" | "ul" | "us" | "uy");
    let power = match lexer.peek().to_ascii_lowercase() {
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        'p' => 5,
        _ => return known,
    };
    lexer.take();
    shape.multiplier = 1 << (10 * power);
    let byte = matches!(lexer.peek(), 'b' | 'B');
    if byte {
        lexer.take();
    }
    known && byte
}

impl Shape {
    /// Reports whether the number fits its type. `None` if this is not known.
    fn fits(&self) -> Option<bool> {
        if self.real {
            return self.real_fits();
        }
        if self.digits.is_empty() {
            // `0x` is 0.
            return Some(self.base == 16);
        }
        if !self.digits.chars().all(|digit| digit.is_digit(self.base)) {
            return Some(false);
        }
        let long = self.digits.len() >= 16;
        if self.base != 10 && (long || !matches!(self.suffix.as_str(), "" | "l" | "n" | "d")) {
            return (self.base == 16 && self.digits.len() <= 16 && self.suffix.is_empty()).then_some(true);
        }
        let magnitude = i128::from_str_radix(&self.digits, self.base).ok();
        let value = magnitude.and_then(|value| value.checked_mul(self.multiplier));
        let value = value.map(|value| if self.negative { -value } else { value });
        let Some(value) = value else {
            // Without a suffix, a large number has the type double, which also has a limit.
            return match self.suffix.as_str() {
                "n" => Some(true),
                "" => (self.digits.len() < 290).then_some(true),
                "d" => None,
                _ => Some(false),
            };
        };
        let within = |least: i128, most: i128| (least..=most).contains(&value);
        Some(match self.suffix.as_str() {
            "y" => within(i8::MIN.into(), i8::MAX.into()),
            "uy" => within(0, u8::MAX.into()),
            "s" => within(i16::MIN.into(), i16::MAX.into()),
            "us" => within(0, u16::MAX.into()),
            "l" => within(i64::MIN.into(), i64::MAX.into()),
            "u" | "ul" => within(0, u64::MAX.into()),
            "d" => within(-DECIMAL, DECIMAL),
            _ => true,
        })
    }

    fn real_fits(&self) -> Option<bool> {
        let plain = self.digits.trim_end_matches('.');
        match (self.suffix.as_str(), plain.parse::<f64>()) {
            ("", Ok(_)) => Some(true),
            ("", Err(_)) => Some(false),
            ("d", Ok(value)) if value.abs() < 1e28 && !self.digits.contains('e') => Some(true),
            (_, Ok(value)) if self.multiplier == 1 && (0.0..100.0).contains(&value) && !self.negative => {
                Some(true)
            }
            _ => None,
        }
    }
}

/// The largest value of the type decimal.
const DECIMAL: i128 = 79_228_162_514_264_337_593_543_950_335;

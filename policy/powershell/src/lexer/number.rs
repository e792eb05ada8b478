//! Numbers. A number that does not fit its type is a word in a command and an error in an expression.

use super::Lexer;
use crate::Parse;
use crate::chars::{ends_number, ends_token, is_dash};
use crate::token::{Kind, Token};

/// The text of a number after the scan, before the check of its range.
pub(super) struct Shape {
    digits: String,
    negative: bool,
    base: u32,
    real: bool,
    suffix: String,
    multiplier: i128,
}

impl Lexer<'_> {
    /// Reads the number that starts with this character, or the word that only looks like one.
    pub(super) fn number(&mut self, first: char) -> Parse<Token> {
        let shape = self.number_shape(first);
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

    /// Reads the characters of a number. Returns `None` if they are the start of a word. The position is then undefined.
    pub(super) fn number_shape(&mut self, first: char) -> Option<Shape> {
        let mut shape = Shape {
            digits: String::new(),
            negative: is_dash(first),
            base: 10,
            real: false,
            suffix: String::new(),
            multiplier: 1,
        };
        let first = if is_dash(first) || first == '+' { self.take() } else { first };
        let mut valid = true;
        let next = self.peek();
        if first == '.' {
            shape.real = true;
            shape.digits.push('.');
            valid = self.fraction(&mut shape);
        } else if first == '0' && matches!(next, 'x' | 'X' | 'b' | 'B') {
            self.take();
            shape.base = if matches!(next, 'x' | 'X') { 16 } else { 2 };
            self.digits(&mut shape);
            valid = shape.base == 16 || !shape.digits.is_empty();
        } else {
            shape.digits.push(first);
            self.digits(&mut shape);
            match self.peek() {
                '.' if self.peek_second() != '.' => {
                    self.take();
                    shape.real = true;
                    shape.digits.push('.');
                    valid = self.fraction(&mut shape);
                }
                'e' | 'E' => {
                    shape.real = true;
                    valid = self.exponent(&mut shape);
                }
                _ => {}
            }
        }
        valid &= self.suffix(&mut shape);
        let next = self.peek();
        let ends = ends_token(next) || (self.in_expression() && ends_number(next, self.in_ternary));
        (valid && ends).then_some(shape)
    }

    fn digits(&mut self, shape: &mut Shape) -> usize {
        let before = shape.digits.len();
        while self.peek().is_digit(shape.base) {
            let digit = self.take();
            shape.digits.push(digit);
        }
        shape.digits.len() - before
    }

    fn fraction(&mut self, shape: &mut Shape) -> bool {
        self.digits(shape);
        !matches!(self.peek(), 'e' | 'E') || self.exponent(shape)
    }

    fn exponent(&mut self, shape: &mut Shape) -> bool {
        self.take();
        shape.digits.push('e');
        let sign = self.peek();
        if sign == '+' || is_dash(sign) {
            self.take();
            shape.digits.push(if sign == '+' { '+' } else { '-' });
        }
        self.digits(shape) > 0
    }

    /// Reads the suffixes of the type and of the multiplier. Returns false if the whole is no number.
    fn suffix(&mut self, shape: &mut Shape) -> bool {
        while matches!(self.peek().to_ascii_lowercase(), 'u' | 's' | 'l' | 'd' | 'y' | 'n')
            && shape.suffix.len() < 2
        {
            let letter = self.take().to_ascii_lowercase();
            shape.suffix.push(letter);
        }
        let known =
            matches!(shape.suffix.as_str(), "" | "u" | "s" | "l" | "d" | "y" | "n" | "ul" | "us" | "uy");
        let power = match self.peek().to_ascii_lowercase() {
            'k' => 1,
            'm' => 2,
            'g' => 3,
            't' => 4,
            'p' => 5,
            _ => return known,
        };
        self.take();
        shape.multiplier = 1 << (10 * power);
        let byte = matches!(self.peek(), 'b' | 'B');
        if byte {
            self.take();
        }
        known && byte
    }
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

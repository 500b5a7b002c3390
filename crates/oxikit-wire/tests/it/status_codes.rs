use oxikit_wire::StatusCode;

use crate::sample::{check_refuses, check_wire};

const TABLE: [(&str, u8, u16); 17] = [
    ("OK", 0, 200),
    ("CANCELLED", 1, 499),
    ("UNKNOWN", 2, 500),
    ("INVALID_ARGUMENT", 3, 400),
    ("DEADLINE_EXCEEDED", 4, 504),
    ("NOT_FOUND", 5, 404),
    ("ALREADY_EXISTS", 6, 409),
    ("PERMISSION_DENIED", 7, 403),
    ("RESOURCE_EXHAUSTED", 8, 429),
    ("FAILED_PRECONDITION", 9, 400),
    ("ABORTED", 10, 409),
    ("OUT_OF_RANGE", 11, 400),
    ("UNIMPLEMENTED", 12, 501),
    ("INTERNAL", 13, 500),
    ("UNAVAILABLE", 14, 503),
    ("DATA_LOSS", 15, 500),
    ("UNAUTHENTICATED", 16, 401),
];

#[test]
fn all_codes_have_their_names_and_numbers() {
    let ours = StatusCode::ALL.map(|code| (code.name(), code.grpc(), code.http()));
    assert_eq!(ours, TABLE);
}

#[test]
fn a_code_is_found_by_name_and_by_number() {
    for (name, number, _) in TABLE {
        let code: StatusCode = name.parse().unwrap();
        assert_eq!(StatusCode::from_grpc(number), Some(code));
        assert_eq!(code.to_string(), name);
        check_wire::<StatusCode>(&format!("\"{name}\""));
    }
    assert_eq!(StatusCode::from_grpc(17), None);
    assert!("not_found".parse::<StatusCode>().is_err());
    check_refuses::<StatusCode>("5");
}

#[test]
fn what_strangers_are_told_has_no_detail_and_is_never_empty() {
    for code in StatusCode::ALL {
        assert!(!code.standard_message().is_empty());
    }
}

use oxikit_wire::{EvalDataPoint, EvalFnResponse, EvalRequest, EvalStatus, Score};

use crate::sample::{check_refuses, check_wire};

#[test]
fn a_data_set_to_be_judged() {
    check_wire::<EvalRequest>(
        r#"{"dataset":[{"input":"a","output":"abc","testCaseId":"tc1"}],"evalRunId":"er1","options":{},"batchSize":4}"#,
    );
    check_wire::<EvalDataPoint>(
        r#"{"input":null,"output":null,"reference":{"x":1},"error":"none","context":["c",1],"traceIds":["t"]}"#,
    );
    check_wire::<EvalDataPoint>("{}");
    check_refuses::<EvalRequest>(r#"{"dataset":[]}"#);
}

#[test]
fn a_case_has_one_score_or_many() {
    check_wire::<EvalFnResponse>(
        r#"{"testCaseId":"tc1","evaluation":{"score":3,"details":{"reasoning":"len"}},
            "traceId":"70909468cbd54a3ea5ee1c3dbbad7fab","spanId":"3f59e442b92f547b","sampleIndex":0}"#,
    );
    check_wire::<EvalFnResponse>(
        r#"{"testCaseId":"tc1","evaluation":[{"id":"a","score":true,"status":"PASS"},
            {"id":"b","score":"good","status":"FAIL"},{"id":"c","error":"no","status":"UNKNOWN"}]}"#,
    );
    check_wire::<EvalFnResponse>(r#"{"testCaseId":"tc1","evaluation":[]}"#);
    check_wire::<EvalFnResponse>(r#"{"testCaseId":"tc1","evaluation":{}}"#);
}

#[test]
fn details_of_a_score_keep_what_is_not_known() {
    check_wire::<Score>(
        r#"{"score":0.25,"details":{"reasoning":"r","steps":[1,null],"none":null}}"#,
    );
    check_wire::<Score>(r#"{"details":{}}"#);
    check_wire::<EvalStatus>(r#""PASS""#);
}

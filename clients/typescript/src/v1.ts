/** The messages of the contract `airlock.v1`, as in the `raw` fields of results. */

export * from "./gen/airlock/v1/approval_pb.js";
export * from "./gen/airlock/v1/common_pb.js";
export * from "./gen/airlock/v1/execution_pb.js";
export * from "./gen/airlock/v1/file_pb.js";
export * from "./gen/airlock/v1/policy_pb.js";
export * from "./gen/airlock/v1/session_pb.js";

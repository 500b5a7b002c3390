-- Numbers of snapshots, segments and documents. They are handed out in blocks, so
-- that a write knows all of its numbers before it is made.
CREATE SEQUENCE numbers INCREMENT BY 64;
-- The order of writes, over all sessions.
CREATE SEQUENCE writes;
CREATE SEQUENCE fences;

CREATE TABLE sessions (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner text NOT NULL,
    id text NOT NULL,
    agent text NOT NULL,
    metadata text,
    -- The greatest was written last.
    written bigint NOT NULL,
    -- Another one after every change.
    version bigint NOT NULL,
    written_at timestamptz NOT NULL,
    -- All that is kept of it.
    bytes bigint NOT NULL,
    created_at text NOT NULL,
    snapshots bigint NOT NULL,
    orphans bigint NOT NULL,
    latest bigint NOT NULL,
    completed bigint,
    is_active boolean NOT NULL,
    UNIQUE (owner, id)
);
CREATE INDEX sessions_written ON sessions (owner, written);
CREATE INDEX sessions_active ON sessions (owner, is_active, written);
CREATE INDEX sessions_agent ON sessions (owner, agent, written);
CREATE INDEX sessions_agent_active ON sessions (owner, agent, is_active, written);
CREATE INDEX sessions_age ON sessions (written_at);
CREATE INDEX sessions_order ON sessions (written);

-- Messages of snapshots: those of the parent up to `start`, then its own. `length`
-- counts both.
CREATE TABLE segments (
    number bigint PRIMARY KEY,
    session bigint NOT NULL REFERENCES sessions ON DELETE CASCADE,
    parent bigint,
    start bigint NOT NULL,
    length bigint NOT NULL
);
CREATE INDEX segments_session ON segments (session);

CREATE TABLE messages (
    segment bigint NOT NULL REFERENCES segments ON DELETE CASCADE,
    -- Counted from the first message of the snapshot.
    position bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (segment, position)
);

-- Artifacts, and custom states: whole, or what to change in `base`.
CREATE TABLE documents (
    number bigint PRIMARY KEY,
    session bigint NOT NULL REFERENCES sessions ON DELETE CASCADE,
    base bigint,
    body text NOT NULL
);
CREATE INDEX documents_session ON documents (session);

CREATE TABLE snapshots (
    number bigint PRIMARY KEY,
    session bigint NOT NULL REFERENCES sessions ON DELETE CASCADE,
    owner text NOT NULL,
    id text NOT NULL,
    revision bigint NOT NULL,
    parent text,
    created_at text NOT NULL,
    updated_at text,
    heartbeat_at text,
    status text,
    finish_reason text,
    error text,
    head_bytes bigint NOT NULL,
    has_state boolean NOT NULL,
    segment bigint,
    length bigint,
    message_bytes bigint,
    custom bigint,
    custom_depth bigint,
    custom_bytes bigint,
    -- Documents, and the bytes of each.
    artifacts bigint[],
    artifact_bytes bigint[],
    work text,
    UNIQUE (owner, id)
);
CREATE INDEX snapshots_session ON snapshots (session, number);
CREATE INDEX snapshots_work ON snapshots (number) WHERE work IS NOT NULL;

CREATE TABLE leases (
    owner text NOT NULL,
    session text NOT NULL,
    fence bigint NOT NULL,
    -- Counts how often it was renewed.
    beat bigint NOT NULL,
    ttl_ms bigint NOT NULL,
    -- The store that has it; it holds a lock of this number.
    instance bigint NOT NULL,
    -- Not so when it was given back. The row stays, so that the last write of a turn
    -- can be made again when its answer was lost.
    is_held boolean NOT NULL,
    -- A random number of whoever took it. One whose answer was lost knows by it that the
    -- lease is its own.
    attempt bigint NOT NULL,
    PRIMARY KEY (owner, session)
);

CREATE TABLE streams (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    owner text NOT NULL,
    position bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    ended_at timestamptz
);
CREATE INDEX streams_ended ON streams (ended_at);

CREATE TABLE stream_events (
    stream bigint NOT NULL REFERENCES streams ON DELETE CASCADE,
    sequence bigint NOT NULL,
    kind smallint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (stream, sequence)
);

CREATE TABLE tasks (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    scope text NOT NULL,
    context text NOT NULL,
    metadata text,
    -- Another one after every change, also of its webhooks.
    version bigint NOT NULL DEFAULT 0,
    -- The number in the protocol.
    state smallint NOT NULL,
    -- 0 while it goes on, 1 while it waits for its client, 2 when it has ended.
    phase smallint NOT NULL,
    -- The event with the current status.
    status_at bigint NOT NULL,
    position bigint NOT NULL,
    bytes bigint NOT NULL,
    turns bigint NOT NULL,
    turn bigint NOT NULL,
    runner text,
    last_write text,
    -- The order of the last changes of the status, and their time in milliseconds since 1970.
    changed bigint NOT NULL,
    changed_at bigint NOT NULL,
    -- The time of the last event.
    written_at timestamptz NOT NULL
);
CREATE INDEX tasks_changed ON tasks (scope, changed);
CREATE INDEX tasks_context ON tasks (scope, context, changed);
CREATE INDEX tasks_runner ON tasks (runner) WHERE runner IS NOT NULL;
CREATE INDEX tasks_ended ON tasks (changed) WHERE phase = 2;
CREATE INDEX tasks_ended_at ON tasks (written_at) WHERE phase = 2;
CREATE INDEX tasks_waiting ON tasks (written_at) WHERE phase = 1;

CREATE TABLE task_events (
    task bigint NOT NULL REFERENCES tasks ON DELETE CASCADE,
    sequence bigint NOT NULL,
    turn bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (task, sequence)
);

CREATE TABLE task_pushes (
    -- The order of registration.
    number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    task bigint NOT NULL REFERENCES tasks ON DELETE CASCADE,
    id text NOT NULL,
    body text NOT NULL,
    delivered bigint NOT NULL,
    -- Whether the task has events behind `delivered`.
    is_pending boolean NOT NULL,
    attempts bigint NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT now(),
    claimed_by text,
    PRIMARY KEY (task, id)
);
CREATE INDEX task_pushes_due ON task_pushes (due_at, number)
    WHERE is_pending AND claimed_by IS NULL;
CREATE INDEX task_pushes_claimed ON task_pushes (claimed_by) WHERE claimed_by IS NOT NULL;

CREATE TABLE task_runners (
    runner text PRIMARY KEY,
    -- Grows with every renewal.
    number bigint NOT NULL
);

-- The revision logs of texts that people edit. A rename changes one row: revisions and labels
-- refer to a log by its number.
CREATE TABLE revision_logs (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document text NOT NULL UNIQUE,
    -- The name before the last rename.
    former text,
    -- The last revision, and the last applied one.
    newest bigint NOT NULL,
    current bigint NOT NULL,
    -- The transaction of the last change, also of a label. Other processes find changes by it
    -- that they were not notified of.
    changed xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX revision_logs_changed ON revision_logs (changed);

CREATE TABLE revisions (
    log bigint NOT NULL REFERENCES revision_logs,
    revision bigint NOT NULL,
    parent bigint NOT NULL,
    kind text NOT NULL,
    author text NOT NULL,
    -- Milliseconds since 1970.
    at bigint NOT NULL,
    hash text NOT NULL,
    bytes bigint NOT NULL,
    is_applied boolean NOT NULL,
    op text,
    outcome text,
    -- NULL if the document was deleted.
    body text,
    PRIMARY KEY (log, revision)
);
CREATE INDEX revisions_op ON revisions (log, op, revision) WHERE op IS NOT NULL;

CREATE TABLE revision_labels (
    log bigint NOT NULL,
    label text NOT NULL,
    revision bigint NOT NULL,
    PRIMARY KEY (log, label),
    FOREIGN KEY (log, revision) REFERENCES revisions
);

-- Appends revisions to a log whose newest number is the one that the caller has seen; 0 begins a
-- log. If a new name is given, the log must exist, and is moved there. Answers 'stored',
-- 'conflict', 'not found' or 'exists'.
CREATE FUNCTION append_revisions(
    p_document text, p_new_name text, p_expected bigint, p_current bigint, p_parents bigint[],
    p_kinds text[], p_authors text[], p_at bigint, p_hashes text[], p_bytes bigint[],
    p_applied boolean[], p_ops text[], p_outcomes text[], p_bodies text[]
) RETURNS text AS $$
DECLARE
    v_log bigint;
    v_newest bigint;
BEGIN
    -- Other writers of this log wait here until this one has ended.
    SELECT number, newest INTO v_log, v_newest FROM revision_logs
    WHERE document = p_document FOR UPDATE;
    IF v_log IS NULL AND p_new_name IS NOT NULL THEN
        RETURN 'not found';
    END IF;
    IF coalesce(v_newest, 0) <> p_expected THEN
        RETURN 'conflict';
    END IF;
    IF v_log IS NULL THEN
        INSERT INTO revision_logs (document, newest, current) VALUES (p_document, 0, 0)
        ON CONFLICT (document) DO NOTHING RETURNING number INTO v_log;
        -- Somebody else may have been faster.
        IF v_log IS NULL THEN
            RETURN 'conflict';
        END IF;
    END IF;
    IF p_new_name = p_document THEN
        RETURN 'exists';
    ELSIF p_new_name IS NOT NULL THEN
        BEGIN
            UPDATE revision_logs SET document = p_new_name, former = p_document
            WHERE number = v_log;
        EXCEPTION WHEN unique_violation THEN
            RETURN 'exists';
        END;
    END IF;
    INSERT INTO revisions (
        log, revision, parent, kind, author, at, hash, bytes, is_applied, op, outcome, body
    )
    SELECT v_log, p_expected + new.ordinal, new.parent, new.kind, new.author, p_at, new.hash,
        new.bytes, new.is_applied, new.op, new.outcome, new.body
    FROM unnest(
        p_parents, p_kinds, p_authors, p_hashes, p_bytes, p_applied, p_ops, p_outcomes, p_bodies
    ) WITH ORDINALITY AS new (
        parent, kind, author, hash, bytes, is_applied, op, outcome, body, ordinal
    );
    UPDATE revision_logs SET newest = p_expected + cardinality(p_parents),
        current = coalesce(p_current, current), changed = pg_current_xact_id()
    WHERE number = v_log;
    RETURN 'stored';
END
$$ LANGUAGE plpgsql;

-- Registers a webhook for events after the present position, or replaces the one with its id.
-- The update of the task makes all that compare a webhook with its task wait for each other.
-- Answers 'stored', 'full' or 'not found'.
CREATE FUNCTION put_task_push(
    p_task text, p_scope text, p_id text, p_body text, p_max bigint
) RETURNS text AS $$
DECLARE
    v_task bigint;
    v_position bigint;
BEGIN
    UPDATE tasks SET version = version + 1 WHERE id = p_task AND scope = p_scope
    RETURNING number, position INTO v_task, v_position;
    IF NOT FOUND THEN
        RETURN 'not found';
    END IF;
    IF (SELECT count(*) FROM task_pushes WHERE task = v_task AND id <> p_id) >= p_max THEN
        RETURN 'full';
    END IF;
    INSERT INTO task_pushes (task, id, body, delivered, is_pending)
    VALUES (v_task, p_id, p_body, v_position, false)
    ON CONFLICT (task, id) DO UPDATE SET body = excluded.body, delivered = excluded.delivered,
        is_pending = false, attempts = 0, due_at = now(), claimed_by = NULL;
    RETURN 'stored';
END
$$ LANGUAGE plpgsql;

-- Whether the store of this number is alive: as long as it is, it holds a lock of the
-- number. The lock is looked for and not tried, as those who try at the same time would
-- take each other for the store.
CREATE FUNCTION is_alive(p_instance bigint) RETURNS boolean AS $$
    SELECT EXISTS (
        SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1 AND granted
            AND classid = ((p_instance >> 32) & 4294967295)::oid
            AND objid = (p_instance & 4294967295)::oid
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )
$$ LANGUAGE sql;

-- Takes a lease: if it is free, if it is taken by force, if the store that has it is
-- gone, if the caller has seen it unchanged for so long that it has run out, or if it was
-- taken by an attempt of the caller's that was never answered. Else answers how it is.
CREATE FUNCTION take_lease(
    p_owner text, p_session text, p_ttl_ms bigint, p_instance bigint, p_by_force boolean,
    p_old_fence bigint, p_old_beat bigint, p_attempt bigint, p_unanswered bigint[]
) RETURNS TABLE (is_taken boolean, fence bigint, beat bigint, ttl_ms bigint) AS $$
DECLARE
    held leases%ROWTYPE;
BEGIN
    LOOP
        SELECT * INTO held FROM leases
        WHERE leases.owner = p_owner AND leases.session = p_session FOR UPDATE;
        IF NOT FOUND THEN
            INSERT INTO leases AS new VALUES (
                p_owner, p_session, nextval('fences'), 0, p_ttl_ms, p_instance, true, p_attempt
            ) ON CONFLICT DO NOTHING RETURNING new.* INTO held;
            -- Somebody else may have been faster.
            CONTINUE WHEN NOT FOUND;
        ELSIF p_by_force OR NOT held.is_held OR held.attempt = ANY (p_unanswered)
            OR (held.fence = p_old_fence AND held.beat = p_old_beat)
            OR NOT is_alive(held.instance)
        THEN
            UPDATE leases AS old SET
                fence = nextval('fences'), beat = 0, ttl_ms = p_ttl_ms, instance = p_instance,
                is_held = true, attempt = p_attempt
            WHERE old.owner = p_owner AND old.session = p_session RETURNING old.* INTO held;
        ELSE
            RETURN QUERY SELECT false, held.fence, held.beat, held.ttl_ms;
            RETURN;
        END IF;
        RETURN QUERY SELECT true, held.fence, held.beat, held.ttl_ms;
        RETURN;
    END LOOP;
END
$$ LANGUAGE plpgsql;

-- Writes a snapshot, and all that belongs to it, if the session is as the caller has
-- seen it and the caller's lease is still its own. Answers 'saved' and the segment of
-- the messages, or 'fenced' or 'conflict'.
CREATE FUNCTION save_snapshot(
    p_owner text, p_session text, p_seen bigint, p_agent text, p_metadata text,
    p_fence bigint, p_releases boolean,
    -- What the session's row says then.
    p_created_at text, p_snapshots bigint, p_orphans bigint, p_latest bigint,
    p_completed bigint, p_is_active boolean, p_bytes bigint,
    -- The snapshot's row. The head: parent, the three times, status, reason, error.
    p_number bigint, p_id text, p_revision bigint, p_head text[], p_head_bytes bigint,
    p_work text, p_has_state boolean,
    -- Messages: those kept of a segment, and those added, perhaps to a new segment.
    p_segment bigint, p_kept bigint, p_message_bytes bigint, p_added text[],
    p_new_segment bigint,
    p_custom bigint, p_custom_depth bigint, p_custom_bytes bigint, p_artifacts bigint[],
    p_artifact_bytes bigint[],
    -- New documents: numbers, bases, texts.
    p_documents bigint[], p_bases bigint[], p_texts text[],
    -- The segment and the documents that the row had and that perhaps nobody has any more.
    p_former_segment bigint, p_former bigint[]
) RETURNS TABLE (outcome text, session bigint, segment bigint) AS $$
DECLARE
    v_session bigint;
    v_segment bigint := p_segment;
    v_parent bigint := p_segment;
    v_next bigint;
    v_length bigint := p_kept + cardinality(p_added);
BEGIN
    IF p_fence IS NOT NULL THEN
        PERFORM FROM leases WHERE leases.owner = p_owner AND leases.session = p_session
            AND leases.fence = p_fence FOR UPDATE;
        IF NOT FOUND THEN
            RETURN QUERY SELECT 'fenced', NULL::bigint, NULL::bigint;
            RETURN;
        END IF;
    END IF;

    IF p_seen IS NULL THEN
        INSERT INTO sessions (
            owner, id, agent, metadata, written, version, written_at, bytes, created_at,
            snapshots, orphans, latest, completed, is_active
        ) VALUES (
            p_owner, p_session, p_agent, p_metadata, nextval('writes'), nextval('writes'), now(),
            p_bytes, p_created_at, p_snapshots, p_orphans, p_latest, p_completed, p_is_active
        ) ON CONFLICT DO NOTHING RETURNING number INTO v_session;
    ELSE
        UPDATE sessions SET
            metadata = coalesce(p_metadata, metadata), written = nextval('writes'),
            version = nextval('writes'), written_at = now(), bytes = p_bytes, created_at = p_created_at,
            snapshots = p_snapshots, orphans = p_orphans, latest = p_latest,
            completed = p_completed, is_active = p_is_active
        WHERE owner = p_owner AND id = p_session AND version = p_seen
        RETURNING number INTO v_session;
    END IF;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 'conflict', NULL::bigint, NULL::bigint;
        RETURN;
    END IF;

    IF cardinality(p_added) > 0 THEN
        UPDATE segments SET length = v_length
        WHERE number = p_segment AND length = p_kept;
        IF NOT FOUND THEN
            v_segment := p_new_segment;
            -- It goes on from the segment that has the last message kept.
            LOOP
                SELECT parent INTO v_next FROM segments
                WHERE number = v_parent AND start >= p_kept;
                EXIT WHEN NOT FOUND;
                v_parent := v_next;
            END LOOP;
            INSERT INTO segments (number, session, parent, start, length)
            VALUES (v_segment, v_session, v_parent, p_kept, v_length);
        END IF;
        INSERT INTO messages (segment, position, body)
        SELECT v_segment, p_kept + added.ordinal - 1, added.body
        FROM unnest(p_added) WITH ORDINALITY AS added (body, ordinal);
    END IF;

    INSERT INTO documents (number, session, base, body)
    SELECT new.number, v_session, new.base, new.body
    FROM unnest(p_documents, p_bases, p_texts) AS new (number, base, body);

    INSERT INTO snapshots AS row (
        number, session, owner, id, revision, parent, created_at, updated_at, heartbeat_at,
        status, finish_reason, error, head_bytes, has_state, segment, length, message_bytes,
        custom, custom_depth, custom_bytes, artifacts, artifact_bytes, work
    ) VALUES (
        p_number, v_session, p_owner, p_id, p_revision, p_head[1], p_head[2], p_head[3],
        p_head[4], p_head[5], p_head[6], p_head[7], p_head_bytes, p_has_state,
        v_segment, v_length, p_message_bytes,
        p_custom, p_custom_depth, p_custom_bytes, p_artifacts, p_artifact_bytes, p_work
    ) ON CONFLICT (number) DO UPDATE SET
        revision = p_revision, parent = p_head[1], created_at = p_head[2],
        updated_at = p_head[3], heartbeat_at = p_head[4], status = p_head[5],
        finish_reason = p_head[6], error = p_head[7], head_bytes = p_head_bytes,
        has_state = p_has_state, segment = v_segment, length = v_length,
        message_bytes = p_message_bytes, custom = p_custom, custom_depth = p_custom_depth,
        custom_bytes = p_custom_bytes, artifacts = p_artifacts, artifact_bytes = p_artifact_bytes, work = p_work;

    IF p_former_segment <> v_segment OR v_segment IS NULL THEN
        PERFORM drop_segment(v_session, p_former_segment);
    END IF;
    IF cardinality(p_former) > 0 THEN
        PERFORM drop_documents(v_session, p_former);
    END IF;
    IF p_releases THEN
        UPDATE leases SET is_held = false
        WHERE leases.owner = p_owner AND leases.session = p_session
            AND leases.fence = p_fence;
    END IF;
    RETURN QUERY SELECT 'saved', v_session, v_segment;
END
$$ LANGUAGE plpgsql;

-- Removes the segment if nobody has it any more.
CREATE FUNCTION drop_segment(p_session bigint, p_segment bigint) RETURNS void AS $$
DECLARE
    v_bytes bigint;
BEGIN
    IF p_segment IS NULL
        OR EXISTS (SELECT FROM snapshots WHERE session = p_session AND segment = p_segment)
        OR EXISTS (SELECT FROM segments WHERE session = p_session AND parent = p_segment)
    THEN
        RETURN;
    END IF;
    SELECT coalesce(sum(octet_length(body)), 0) INTO v_bytes FROM messages
    WHERE segment = p_segment;
    DELETE FROM segments WHERE number = p_segment;
    UPDATE sessions SET bytes = bytes - v_bytes WHERE number = p_session;
END
$$ LANGUAGE plpgsql;

-- Removes those of the documents that nobody has any more.
CREATE FUNCTION drop_documents(p_session bigint, p_documents bigint[]) RETURNS void AS $$
    WITH gone AS (
        DELETE FROM documents WHERE documents.number = ANY (p_documents)
            AND NOT EXISTS (
                SELECT FROM documents AS other
                WHERE other.session = p_session AND other.base = documents.number
            )
            AND NOT EXISTS (
                SELECT FROM snapshots WHERE snapshots.session = p_session
                    AND (snapshots.custom = documents.number
                        OR documents.number = ANY (snapshots.artifacts))
            )
        RETURNING octet_length(body) AS bytes
    )
    UPDATE sessions SET bytes = bytes - (SELECT coalesce(sum(gone.bytes), 0) FROM gone)
    WHERE number = p_session
$$ LANGUAGE sql;

-- Removes snapshots of a session, and what only they had.
CREATE FUNCTION drop_snapshots(p_session bigint, p_snapshots bigint[]) RETURNS void AS $$
BEGIN
    DELETE FROM snapshots WHERE session = p_session AND number = ANY (p_snapshots);
    WITH RECURSIVE used AS (
        SELECT segment AS number FROM snapshots WHERE session = p_session
        UNION
        SELECT parent FROM segments JOIN used USING (number)
    )
    DELETE FROM segments WHERE session = p_session
        AND NOT EXISTS (SELECT FROM used WHERE used.number = segments.number);
    WITH RECURSIVE used AS (
        (SELECT custom AS number FROM snapshots WHERE session = p_session
         UNION
         SELECT unnest(artifacts) FROM snapshots WHERE session = p_session)
        UNION
        SELECT base FROM documents JOIN used USING (number)
    )
    DELETE FROM documents WHERE session = p_session
        AND NOT EXISTS (SELECT FROM used WHERE used.number = documents.number);
    UPDATE sessions SET version = nextval('writes'), bytes = (
        SELECT coalesce(sum(head_bytes), 0) FROM snapshots WHERE session = p_session
    ) + (
        SELECT coalesce(sum(octet_length(body)), 0) FROM documents WHERE session = p_session
    ) + (
        SELECT coalesce(sum(octet_length(body)), 0)
        FROM messages JOIN segments ON segments.number = messages.segment
        WHERE session = p_session
    ) WHERE number = p_session;
END
$$ LANGUAGE plpgsql;

-- Removes a session and its lease, unless it has changed since the caller has seen it;
-- answers its snapshots.
CREATE FUNCTION drop_session(p_owner text, p_session text, p_seen bigint)
RETURNS TABLE (was_there boolean, snapshot text) AS $$
DECLARE
    v_session bigint;
BEGIN
    -- In the order in which a write locks them.
    PERFORM FROM leases WHERE leases.owner = p_owner AND leases.session = p_session FOR UPDATE;
    SELECT number INTO v_session FROM sessions
    WHERE sessions.owner = p_owner AND sessions.id = p_session
        AND sessions.version = coalesce(p_seen, sessions.version)
    FOR UPDATE;
    IF v_session IS NOT NULL OR p_seen IS NULL THEN
        DELETE FROM leases WHERE leases.owner = p_owner AND leases.session = p_session;
    END IF;
    RETURN QUERY SELECT v_session IS NOT NULL, snapshots.id
        FROM (SELECT) AS one LEFT JOIN snapshots ON snapshots.session = v_session;
    DELETE FROM sessions WHERE sessions.number = v_session;
END
$$ LANGUAGE plpgsql;

-- Removes a session and its lease to make room; answers its snapshots. It stays if it has
-- changed since the caller has seen it, if it has unfinished work, or if a store that is
-- alive has its lease. A lease that the caller has seen run out is no reason.
CREATE FUNCTION prune_session(
    p_owner text, p_session text, p_seen bigint, p_expired_fence bigint
) RETURNS TABLE (was_there boolean, snapshot text) AS $$
BEGIN
    -- In the order in which a write locks them.
    PERFORM FROM leases WHERE leases.owner = p_owner AND leases.session = p_session
        AND is_held AND fence IS DISTINCT FROM p_expired_fence AND is_alive(instance)
    FOR UPDATE;
    IF FOUND OR EXISTS (
        SELECT FROM snapshots JOIN sessions ON sessions.number = snapshots.session
        WHERE sessions.owner = p_owner AND sessions.id = p_session AND work IS NOT NULL
    ) THEN
        RETURN QUERY SELECT false, NULL::text;
        RETURN;
    END IF;
    RETURN QUERY SELECT * FROM drop_session(p_owner, p_session, p_seen);
END
$$ LANGUAGE plpgsql;

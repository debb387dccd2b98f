-- Returns the first of p_count draws that are nobody else's, opening a new window for them: the slow path of the generator.
-- The first 2^_counter_bits() draws of a window are ids; higher counters are void, and the 2^_window_bits() values of a window's
-- tick keep them out of the next one. Everything rests on the order below: mark, flush, window. Sequences do not roll back, locks do.
-- The layout's constants are written as calls, which fold in each expression's plan. They are read after the shard id, and are
-- set with it: a session that comes before both is refused, so that no call begins with one layout and ends with another.
create function shardflake._open_window(p_count integer) returns bigint
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_boot constant bigint := (date_part('epoch', pg_postmaster_start_time()) * 1000000)::bigint;
  v_shard constant integer := coalesce(shardflake.shard_id(), shardflake._no_shard());
  v_limit constant bigint := greatest(shardflake._ticks(shardflake._max_lead()), shardflake._span());  -- span: what a busy shard may run ahead anyway
  v_windows constant bigint := ((p_count::bigint - 1) >> shardflake._counter_bits()) + 1;
  v_same_boot boolean;
  v_draw bigint;
  v_now bigint;
  v_seen bigint;
  v_mark bigint;
  v_opened bigint;
  v_tick bigint;
  v_first bigint;
  v_last bigint;
  v_rate bigint;
  v_set bigint;
begin
  if p_count is null or p_count not between 1 and shardflake._batch_limit() then
    raise exception 'cannot claim % ids at once', coalesce(p_count::text, 'NULL') using
      errcode = 'SF010', hint = format('Ask for 1 to %s ids per call.', shardflake._batch_limit());
  end if;
  begin  -- a subtransaction that is aborted on purpose, so that no cancel or error can leave its lock behind
    if not pg_try_advisory_xact_lock('shardflake._window'::regclass::oid::integer, 1936287346) then
      -- Someone is opening a window: a draw from the present one will do if it is near the clock. It is made after the look at
      -- the incarnation: a draw made before may come from an old state that the opener has replaced meanwhile.
      if p_count = 1 and pg_sequence_last_value('shardflake._incarnation') = v_boot
         and pg_relation_filepath('shardflake._window') = shardflake._window_file() then
        v_draw := nextval('shardflake._window');
        v_now := shardflake._tick();
        if v_draw & ((1::bigint << shardflake._window_bits()) - 1) < 1::bigint << shardflake._counter_bits()
           and v_draw >> shardflake._window_bits() between v_now - greatest(shardflake._ticks(20), 2) and v_now + v_limit then
          return shardflake._place(v_draw);
        end if;
      end if;
      perform pg_advisory_xact_lock('shardflake._window'::regclass::oid::integer, 1936287346);
    end if;
    if pg_relation_filepath('shardflake._window') is distinct from shardflake._window_file() then
      raise exception 'the generator of shard % in database "%" is a copy or was altered', v_shard, current_database() using
        errcode = 'SF002',
        detail = format('shardflake._window is the file %s, it was armed as %s.', pg_relation_filepath('shardflake._window'), shardflake._window_file()),
        hint = 'If this database is to go on as this shard and no other does, run SELECT * FROM shardflake.confirm_identity().';
    end if;
    v_same_boot := pg_sequence_last_value('shardflake._incarnation') is not distinct from v_boot;
    v_draw := nextval('shardflake._window');
    v_now := shardflake._tick();
    v_opened := pg_sequence_last_value('shardflake._opened');
    v_tick := greatest(v_draw, pg_sequence_last_value('shardflake._window')) >> shardflake._window_bits();
    v_mark := pg_sequence_last_value('shardflake._high_water');
    if v_mark is null then
      raise exception 'the high-water mark of shard % cannot be read', v_shard using
        errcode = 'SF003', hint = 'Restore the sequence shardflake._high_water, then run SELECT * FROM shardflake.confirm_identity().';
    end if;
    if v_tick > v_mark or (v_same_boot and v_tick < greatest(v_opened, 1)) then
      raise exception 'the sequences of shard % were moved by hand: window %, last opened %, mark %', v_shard, v_tick, v_opened, v_mark using
        errcode = 'SF002', hint = 'Run SELECT * FROM shardflake.confirm_identity().';
    end if;
    if v_same_boot and p_count = 1 and v_draw & ((1::bigint << shardflake._window_bits()) - 1) < 1::bigint << shardflake._counter_bits()
       and v_draw >> shardflake._window_bits() between v_now - shardflake._ticks(8) and v_now + v_limit then
      raise exception using errcode = 'SFEND';  -- opened by someone else while this session waited
    end if;
    v_first := greatest(v_now, v_tick + 1);
    if not v_same_boot and v_mark > 0 then  -- a restart, crash or promotion: nothing but the mark can be trusted
      v_first := greatest(v_first, v_mark + 1) + shardflake._ticks(1000);  -- 1 s for ids that never reached a promoted standby in a commit
    end if;
    v_last := v_first + v_windows - 1;
    -- At most one window a tick while ids lead the clock. Not pg_sleep(): it follows the wall clock, and a step back
    -- during it would stretch it. This ends as soon as the clock has moved enough or has moved back, and with a stopped one too.
    v_seen := v_now;
    for v_look in 1 .. 50000 * shardflake._tick_ms() * v_windows loop
      exit when v_seen < v_now or v_seen >= least(v_last - (shardflake._span() - shardflake._ticks(8)), v_now + v_windows);
      v_seen := shardflake._tick();
    end loop;
    if v_last >> (63 - shardflake._window_bits()) > 0 then
      raise exception 'the %-bit time field of shard % ends at %', 63 - shardflake._window_bits(), v_shard,
        shardflake.timestamp_of(((1::bigint << (63 - shardflake._window_bits())) - 1) << shardflake._time_shift()) using
        errcode = 'SF004', hint = 'No more ids can be made with this epoch.';
    end if;
    if v_last > v_seen + v_limit + (case when v_same_boot then 0 else shardflake._ticks(1000) end) then  -- or a small limit refuses for ever
      raise exception 'the clock is % ms behind the ids of shard %, more than the % ms allowed', (v_last - v_seen) * shardflake._tick_ms(), v_shard,
        v_limit * shardflake._tick_ms() using
        errcode = 'SF005',
        hint = 'The clock was set back, or the server has just restarted; ids resume once it has caught up. A larger max_lead in assign_shard() lets them run on.';
    end if;
    -- A mark more than 3 s above _opened was raised by an opening that was cancelled, perhaps before it flushed.
    if not v_same_boot or v_last + shardflake._ticks(1000) > v_mark or v_mark > v_opened + shardflake._ticks(3000) then
      perform shardflake._check_identity();
      perform setval('shardflake._high_water', greatest(v_mark, v_last + shardflake._ticks(3000)));
      perform shardflake._flush_wal();  -- before the window: no id may exist that a crash could forget
    end if;
    v_rate := least((v_draw & ((1::bigint << shardflake._window_bits()) - 1)) + 1, 1::bigint << shardflake._counter_bits())
              / (greatest(v_now - v_tick, 1) * shardflake._tick_ms());
    -- Where ids lead the clock by more than a busy shard's do, after a step back or a promotion, their ticks say nothing of their rate.
    if v_same_boot and v_tick < v_now + shardflake._span() and v_rate > coalesce(pg_sequence_last_value('shardflake._peak'), 0) then
      v_set := setval('shardflake._peak', v_rate);
    end if;
    v_draw := v_first << shardflake._window_bits();
    v_set := setval('shardflake._window', (v_last << shardflake._window_bits()) | ((p_count - 1) & ((1 << shardflake._counter_bits()) - 1)));  -- assigned: PERFORM would run a query
    v_set := setval('shardflake._opened', v_last);
    if not v_same_boot then
      perform setval('shardflake._incarnation', v_boot);
    end if;
    raise exception using errcode = 'SFEND';  -- aborts the subtransaction: the lock goes, the sequences and v_draw stay
  exception when sqlstate 'SFEND' then null;
  end;
  return shardflake._place(v_draw);
end $$;

comment on function shardflake._open_window(integer) is
  'First of p_count draws (1 to 100 ms of them), as an id whose shard id is 0. Private: next_id() and next_ids() call it.';

revoke execute on function shardflake._open_window(integer) from public;

-- Says up to which id a feed may read: below the horizon, nothing will be committed any more that is not visible already.
-- Clocks play no part. nextval() locks _window for its whole transaction before it draws, so those who drew and still run are
-- the holders of that lock, savepoints or not; a prepared transaction keeps it. A commit becomes visible before its locks go.
create function shardflake.feed_horizon(p_fence bigint default null, p_waiting text[] default null)
returns table (horizon bigint, fence bigint, waiting text[])
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_running text[];
  v_gone boolean;
begin
  if pg_is_in_recovery() then
    raise exception 'a standby does not know the horizon of a feed' using
      errcode = 'SF040',
      hint = 'Ask the primary, then note its pg_current_wal_insert_lsn(). Read here once pg_last_wal_replay_lsn() has reached that.';
  end if;
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'a horizon is of no use in a % transaction', current_setting('transaction_isolation') using
      errcode = 'SF040', hint = 'Its snapshot is older than the horizon. Ask in a READ COMMITTED transaction; then read in one of any kind.';
  end if;
  if (p_fence is null) <> (p_waiting is null) then
    raise exception 'fence % and waiting % do not belong together', coalesce(p_fence::text, 'NULL'), coalesce(p_waiting::text, 'NULL') using
      errcode = 'SF040', hint = 'Pass both as the last call returned them, or neither for a new feed.';
  end if;
  v_running := array(select shardflake._drawers());
  -- A restart ends all transactions but the prepared ones, which go on under new names, -1/…: wait for all of those.
  v_gone := exists (select from unnest(p_waiting) as t where t <> all (v_running) and t not like '-1/%');
  waiting := array(select t from unnest(v_running) as t where t = any (p_waiting) or (v_gone and t like '-1/%'));
  if waiting <> '{}' then
    fence := p_fence;
    return next;
    return;
  end if;
  horizon := p_fence;
  -- A claim of two opens a window in any case: every id of an earlier one, of any logical shard, was drawn before, and is smaller.
  -- Then, not before, who has drawn.
  fence := (shardflake._open_window(2) >> shardflake._time_shift()) << shardflake._time_shift();
  waiting := array(select shardflake._drawers());
  if waiting = '{}' then
    horizon := fence;
    fence := null;
    waiting := null;
  end if;
  return next;
end $$;

comment on function shardflake.feed_horizon(bigint, text[]) is
  'The id below which every row that will ever be committed is visible to the next statement, NULL for no news; pass fence and waiting to the next call. SF040 outside READ COMMITTED, and on a standby.';

revoke execute on function shardflake.feed_horizon(bigint, text[]) from public;

-- Makes the commit of the present transaction wait for its WAL, whatever the session or the role has set.
-- Not a SET clause: that would end with the function, and the commit comes later.
create function shardflake._commit_durably() returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end $$;

comment on function shardflake._commit_durably() is
  'Turns synchronous_commit on for the rest of the transaction, if it is off.';

revoke execute on function shardflake._commit_durably() from public;

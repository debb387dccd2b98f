-- The id function that Instagram published in 2012, written anew from its description: a negative control for tests, benchmarks
-- and the demo. Do not use it: it reads its counter and the clock apart, so two rows can get the same id.

create schema instagram;

create sequence instagram.id_sequence;

-- The loader puts the shard's own number here.
create function instagram.shard_id() returns integer
  language sql immutable parallel safe
  return 1;

-- 41 bits of milliseconds since Instagram's epoch, 13 of shard, 10 of a counter that wraps. SELECT INTO, as published: plain
-- assignments would nearly double its speed, and let it repeat ids far more often.
create function instagram.next_id() returns bigint
  language plpgsql volatile parallel unsafe
as $$
declare
  v_epoch constant bigint := 1314220021721;
  v_counter bigint;
  v_now bigint;
begin
  select nextval('instagram.id_sequence') % 1024 into v_counter;
  select floor(extract(epoch from clock_timestamp()) * 1000) into v_now;
  return ((v_now - v_epoch) << 23) | (instagram.shard_id() << 10) | v_counter;  -- << and | bind equally: parentheses decide
end $$;

comment on function instagram.next_id() is
  'Instagram''s published id function: gives the same id twice under concurrent bulk inserts. For comparison only.';

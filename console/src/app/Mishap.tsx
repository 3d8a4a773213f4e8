import { Component, type ReactNode } from 'react';
import { Problem } from '../ui/Problem';

/** A page that cannot be shown says so, and the rest of the console stays. */
export class Mishap extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override state = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return <Problem error={error} again={() => this.setState({ error: null })} />;
  }
}
